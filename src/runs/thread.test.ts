import { describe, expect, it } from "vitest";
import type { Journal } from "../ports/index.ts";
import { type DurableEvent, type Head, type Line, noUsage } from "../protocol/index.ts";
import { Thread } from "./thread.ts";

const head: Head = {
  provider: "p",
  model: "m",
  dialect: "anthropic",
  maxTokens: 100,
  tools: [],
  system: "Be brief.",
  systemContext: "",
  userContext: "",
};
const otherHead: Head = { ...head, model: "m2", system: "Be thorough." };

/** A journal in memory whose heads can be lost. */
function journal(): Journal & { readonly heads: Map<string, Head> } {
  const lines: Line[] = [];
  const heads = new Map<string, Head>();
  return {
    heads,
    sessionId: "s",
    append: async (_, events) => {
      const added = events.map((event, index): Line => {
        const id = lines.length + index + 1;
        return { v: 1, id: String(id), parentId: id === 1 ? null : String(id - 1), at: 0, ...event };
      });
      lines.push(...added);
      return added;
    },
    sync: async () => undefined,
    syncSoon: () => undefined,
    read: async () => lines,
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
  it("restores the very bytes of its newest request", async () => {
    const files = journal();
    const before = await firstLife(files);
    const after = new Thread("main", files);
    await after.restore();
    const body = (thread: Thread) => Buffer.concat([...(thread.newestPrompt?.body("anthropic") ?? [])]).toString();
    expect(body(after)).toBe(body(before));
    expect(body(after)).toContain('"two"');
  });

  it("ends the run of a lost process when it is restored, once", async () => {
    const files = journal();
    await firstLife(files);
    for (const _ of [1, 2]) await new Thread("main", files).restore();
    const ends = (await files.read("main")).filter((line) => line.type === "run.ended");
    expect(ends).toMatchObject([{ outcome: "failed", reason: "process_lost" }]);
  });

  it("keeps every word when a head is lost from the disk", async () => {
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

  it("writes batches of several callers whole and in order", async () => {
    const files = journal();
    const thread = await firstLife(files);
    await Promise.all([thread.record([say("a"), say("b")]), thread.record([say("c"), say("d")])]);
    const words = (await files.read("main")).flatMap((line) => (line.type === "prompt.received" ? line.content : []));
    expect(words.map((block) => (block.type === "text" ? block.text : "")).slice(2)).toEqual(["a", "b", "c", "d"]);
  });
});
