import { describe, expect, it } from "vitest";
import { SERIALIZER_VERSION } from "../../conversation/index.ts";
import { fold, initialState, userTurn } from "../../loop/index.ts";
import type { Journal } from "../../ports/index.ts";
import { type DurableEvent, type EventOf, type Head, type Line, noUsage, runtimeText } from "../../protocol/index.ts";
import { forkPoint, forkSiblings } from "../subagents/forks.ts";
import { Thread } from "./thread.ts";

const head: Head = {
  provider: "p",
  model: "m",
  dialect: "anthropic",
  tools: [],
  system: "Be brief.",
  systemContext: "",
  userContext: "",
};
const otherHead: Head = { ...head, model: "m2", system: "Be thorough." };

/** Creates a journal in memory. A test can delete its heads. */
function journal(): Journal & { readonly heads: Map<string, Head> } {
  const written = new Map<string, Line[]>();
  const heads = new Map<string, Head>();
  return {
    heads,
    sessionId: "s",
    append: async (agentId, events) => {
      const lines = written.get(agentId) ?? [];
      const added = events.map((event, index): Line => {
        const id = lines.length + index + 1;
        return { v: 1, id: String(id), parentId: id === 1 ? null : String(id - 1), at: 0, ...event };
      });
      written.set(agentId, [...lines, ...added]);
      return added;
    },
    sync: async () => undefined,
    syncSoon: () => undefined,
    read: async (agentId) => written.get(agentId) ?? [],
    saveHead: async (saved) => {
      heads.set(saved.system, saved);
      return saved.system;
    },
    agents: async () => [],
    output: () => undefined,
    loadHead: async (hash) => heads.get(hash),
    close: async () => undefined,
  };
}

const started: DurableEvent = {
  type: "run.started",
  runId: "r",
  agentId: "main",
  agentType: "main",
  kind: "fresh",
  requestedModel: null,
  provider: "p",
  model: "m",
  modelReason: "test",
  permissionMode: "default",
  maxTurns: 10,
};
const created: EventOf<"agent.created"> = {
  type: "agent.created",
  sessionId: "s",
  agentId: "a1",
  agentType: "fork",
  description: "a part",
  parent: { agentId: "main", callId: "main_2_0" },
  depth: 1,
  cwd: "/",
  version: "0",
  serializer: 2,
};
const ended = (runId: string): DurableEvent => {
  const facts = { toolCalls: {}, filesChanged: [], commands: [], denied: [], unknown: [], agentsCut: 0 };
  const common = { text: "", turns: 1, usage: noUsage, milliseconds: 1, modelMilliseconds: 1, facts };
  return { type: "run.ended", runId, outcome: "succeeded", reason: "done", ...common };
};
const say = (text: string): DurableEvent => ({
  type: "prompt.received",
  content: [{ type: "text", text }],
  from: "person",
});
const ask = (turn: number): DurableEvent => ({ type: "model.requested", turn });
const answer = (turn: number, text: string): DurableEvent => ({
  type: "model.ended",
  turn,
  message: { role: "assistant", content: [{ type: "text", text }] },
  stopReason: "end_turn",
  incompleteCalls: 0,
  usage: noUsage,
  milliseconds: 1,
});

async function firstLife(files: Journal): Promise<Thread> {
  const thread = new Thread("main", files);
  const hash = await thread.keepHead(head);
  await thread.record([
    { type: "head.set", hash },
    started,
    say("one"),
    ask(1),
    answer(1, "first"),
    say("two"),
    ask(2),
  ]);
  return thread;
}

describe("a thread", () => {
  it("restores the bytes of its newest request", async () => {
    const files = journal();
    const before = await firstLife(files);
    const after = new Thread("main", files);
    await after.restore();
    const body = (thread: Thread) => Buffer.concat([...(thread.newestPrompt?.body("anthropic", 0) ?? [])]).toString();
    expect(body(after)).toBe(body(before));
    expect(body(after)).toContain('"two"');
  });

  it("ends a lost run exactly once, when it is restored", async () => {
    const files = journal();
    await firstLife(files);
    for (const _ of [1, 2]) await new Thread("main", files).restore();
    const ends = (await files.read("main")).filter((line) => line.type === "run.ended");
    expect(ends).toMatchObject([{ outcome: "failed", reason: "process_lost" }]);
  });

  it("keeps every message if a head is missing on disk", async () => {
    const files = journal();
    await firstLife(files);
    files.heads.clear();
    const after = new Thread("main", files);
    await after.restore();
    expect(after.headHash).toBeUndefined();
    const hash = await after.keepHead(otherHead);
    await after.record([{ type: "head.set", hash }, { ...started, runId: "r2" }, say("three"), ask(3)]);
    expect(JSON.stringify(after.newestPrompt?.messages())).toMatch(/one.*first.*two.*three/);
  });

  it("counts the requests of the conversation that it continues, even after it is restored", async () => {
    const files = journal();
    const parent = await firstLife(files);
    await parent.record([answer(2, "second")]);
    const { origin, past } = forkPoint(parent, { kind: "fork", siblings: forkSiblings(parent) });
    const fork = new Thread("a1", files);
    fork.inherit(past);
    await fork.record([{ ...created, fork: origin }, say("a part"), ask(1)]);
    const restored = new Thread("a1", files);
    await restored.restore();
    expect([parent.requests, fork.requests, restored.requests]).toEqual([2, 3, 3]);
  });

  it("has the bytes that an earlier version sent, with Retinue's texts in brackets", async () => {
    const files = journal();
    const parent = await firstLife(files);
    await parent.record([answer(2, "second")]);
    const { origin } = forkPoint(parent, { kind: "fork", turns: 1, siblings: forkSiblings(parent) });
    const before = "[Earlier turns of this conversation are omitted.]";
    const hash = parent.conversation?.newestTurns(1, before)?.fingerprint() ?? "";
    const fork = new Thread("a1", files);
    await fork.record([{ ...created, fork: { ...origin, hash } }, say("a part"), ask(1)]);
    const restored = new Thread("a1", files);
    await restored.restore();
    expect(restored.past).toBe("same");
    expect(JSON.stringify(restored.conversation?.messages()[0])).toContain(before);

    const call = { type: "tool_call", callId: "main_3_0", name: "Read", inputJson: "{}" } as const;
    const called = { ...(answer(3, "") as EventOf<"model.ended">), message: { role: "assistant", content: [call] } };
    const result = { outcome: "ok", content: [{ type: "text", text: "alpha" }] } as const;
    const compacted = (summary: string): DurableEvent[] => [
      called as DurableEvent,
      { type: "tool.ended", callId: call.callId, name: "Read", result, milliseconds: 1 },
      { type: "conversation.compacted", summary, kept: 0, trigger: "auto", before: 2, after: 1 },
    ];
    const told = (summary: string): string =>
      JSON.stringify(userTurn(compacted(summary).reduce(fold, { ...initialState, turn: 2 })));
    expect(told("[The conversation up to here …")).toContain('"[Your newest calls');
    expect(told(runtimeText("The conversation up to here …"))).toContain("<from_retinue>\\nYour newest calls");
  });

  describe("whose model thinks", () => {
    const thinking = { type: "thinking", text: "Hm.", signature: "s", origin: { provider: "p", model: "m" } } as const;
    const thought = (turn: number): DurableEvent => ({
      ...(answer(turn, "yes") as EventOf<"model.ended">),
      message: { role: "assistant", content: [thinking, { type: "text", text: "yes" }] },
    });
    const birth = (serializer: number): DurableEvent => {
      return { type: "session.created", sessionId: "s", cwd: "/", version: "0", serializer };
    };
    const dropped: DurableEvent = { type: "thinking.dropped", serializer: SERIALIZER_VERSION };
    const thoughts = ({ conversation }: Thread) => JSON.stringify(conversation?.messages()).split("Hm.").length - 1;
    const restored = async (files: Journal) => {
      const thread = new Thread("main", files);
      await thread.restore();
      return thread;
    };
    async function begin(serializer: number) {
      const files = journal();
      const thread = new Thread("main", files);
      const hash = await thread.keepHead(head);
      await thread.record([birth(serializer), { type: "head.set", hash }, started, say("one"), ask(1), thought(1)]);
      return { files, thread };
    }

    it("trusts its thinking, unless it was sent by another version of the serializer", async () => {
      const current = await begin(SERIALIZER_VERSION);
      expect((await restored(current.files)).hasUncertainThinking).toBe(false);
      const { files, thread } = await begin(SERIALIZER_VERSION - 1);
      expect(thread.hasUncertainThinking).toBe(false);
      const after = await restored(files);
      expect(after.hasUncertainThinking).toBe(true);
      await after.record([dropped, { ...started, runId: "r2" }, say("two"), ask(2), thought(2)]);
      expect([after.hasUncertainThinking, thoughts(after)]).toEqual([false, 1]);
      const later = await restored(files);
      expect([later.hasUncertainThinking, thoughts(later)]).toEqual([false, 1]);
    });

    it("does not bring back thinking that it has dropped, when the user goes back to an earlier prompt", async () => {
      const { files, thread } = await begin(SERIALIZER_VERSION);
      await thread.record([ended("r")]);
      const [line] = await thread.record([{ ...started, runId: "r2" }]);
      await thread.record([say("two"), ask(2), dropped, thought(2), ended("r2")]);
      expect(thoughts(thread)).toBe(1);
      await thread.rewind(line?.id ?? "", []);
      expect(thoughts(thread)).toBe(0);
      expect(JSON.stringify(thread.conversation?.messages())).toContain("yes");
      expect(thoughts(await restored(files))).toBe(0);
    });
  });

  it("writes the events of several callers completely and in order", async () => {
    const files = journal();
    const thread = await firstLife(files);
    await Promise.all([thread.record([say("a"), say("b")]), thread.record([say("c"), say("d")])]);
    const prompts = (await files.read("main")).flatMap((line) => (line.type === "prompt.received" ? line.content : []));
    expect(prompts.map((block) => (block.type === "text" ? block.text : "")).slice(2)).toEqual(["a", "b", "c", "d"]);
  });
});
