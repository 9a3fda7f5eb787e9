import { setTimeout as wait } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Journal } from "../src/ports/index.ts";
import { type DurableEvent, FORK_INTRODUCTION, type Head, type Line } from "../src/protocol/index.ts";
import { Thread } from "../src/runs/index.ts";
import { type ForkSiblings, forkPoint, forkSiblings } from "../src/runs/subagents/forks.ts";
import { median } from "./client.ts";
import type { Figure } from "./figure.ts";

const forks = 100;

/** Measures how long it takes to create a fork, and how much memory a hundred forks use. */
export async function forkCase(): Promise<Figure[]> {
  // Runs first, because otherwise garbage from the longer conversations would be counted too.
  const memoryOfForks = await memory();
  // Warms up the code, because otherwise the first measurements would include compilation.
  for (let round = 0; round < 3; round += 1) await creation(100);
  const short = await creation(100);
  const long = await creation(10_000);
  return [
    { name: "creating a fork of 10,000 messages", ours: long.first, baseline: 0, unit: "ms", limit: 1, kind: "value" },
    {
      name: "creating its siblings, against 100 messages",
      ours: long.more,
      baseline: short.more,
      unit: "µs",
      limit: 2,
    },
    memoryOfForks,
  ];
}

/** The first fork of an answer seals the messages added since the last request; the other forks find them sealed. */
async function creation(messages: number): Promise<{ readonly first: number; readonly more: number }> {
  const parent = await converse(messages, 200);
  const siblings = forkSiblings(parent);
  const times = Array.from({ length: forks }, () => {
    const startedAt = performance.now();
    new Thread("a1", nowhere).inherit(forkPoint(parent, { kind: "fork", siblings }).past);
    return performance.now() - startedAt;
  });
  return { first: Number((times[0] ?? 0).toFixed(3)), more: median(times.slice(1)) * 1_000 };
}

/** Measures the memory of conversations and their bytes, up to the first request of each fork. */
async function memory(): Promise<Figure> {
  const tokens = 50_000;
  // Warms up the code, so that memory used by compilation is not counted.
  const some = await converse(10, 100);
  await fork(some, 0, forkSiblings(some));
  const before = await held();
  const parent = await converse(100, (tokens * 4) / 100);
  const one = (await held()) - before;
  const siblings = forkSiblings(parent);
  const all: Thread[] = [];
  for (let index = 0; index < forks; index += 1) all.push(await fork(parent, index, siblings));
  const more = (await held()) - before - one;
  if (all.some(({ newestPrompt }) => newestPrompt === undefined)) throw new Error("a fork has sent no request");
  const name = `memory of ${forks} forks of ${tokens.toLocaleString("en")} tokens, against the conversation itself`;
  return { name, ours: more / 1024, baseline: one / 1024, unit: "KB", limit: 1.3 };
}

async function fork(parent: Thread, index: number, siblings: ForkSiblings): Promise<Thread> {
  const agentId = `a${index}`;
  const { origin, past } = forkPoint(parent, { kind: "fork", siblings });
  const thread = new Thread(agentId, nowhere);
  thread.inherit(past);
  const text = `Take part ${index} of the work and say what you found there.`;
  await thread.record([
    {
      type: "agent.created",
      sessionId: "s",
      agentId,
      agentType: "fork",
      description: "a part",
      parent: { agentId: "main", callId: "c" },
      depth: 1,
      fork: origin,
      cwd: "/",
      version: "0",
      serializer: 1,
    },
    { type: "context.added", cause: "fork", text: FORK_INTRODUCTION },
    { type: "prompt.received", content: [{ type: "text", text }], from: "agent" },
    { type: "model.requested", turn: 1 },
  ]);
  thread.newestPrompt?.body(head.dialect, 1_000);
  return thread;
}

/** Creates the conversation of a main agent whose newest answer starts all forks at once. */
async function converse(messages: number, bytes: number): Promise<Thread> {
  const thread = new Thread("main", nowhere);
  const text = (index: number): string => wordsOf(index, bytes);
  await thread.keepHead(head);
  await thread.record([
    { type: "session.created", sessionId: "s", cwd: "/", version: "0", serializer: 1 },
    { type: "head.set", hash: "h" },
    { type: "prompt.received", content: [{ type: "text", text: text(0) }], from: "person" },
  ]);
  for (let turn = 1; turn <= messages / 2; turn += 1) {
    await thread.record([{ type: "model.requested", turn }]);
    thread.newestPrompt?.body(head.dialect, 1_000);
    thread.newestPrompt?.fingerprint();
    const isLast = turn + 1 > messages / 2;
    await thread.record(isLast ? answer(turn, text(turn), forks).slice(0, 1) : answer(turn, text(turn), 1));
  }
  return thread;
}

function answer(turn: number, text: string, calls: number): DurableEvent[] {
  const callId = `main_${turn}_0`;
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  return [
    {
      type: "model.ended",
      turn,
      message: {
        role: "assistant",
        content: [
          { type: "text", text: wordsOf(-turn, text.length) },
          ...Array.from({ length: calls }, (_, index) => ({
            type: "tool_call" as const,
            callId: `main_${turn}_${index}`,
            name: "Task",
            inputJson: JSON.stringify({ description: "a part", prompt: `Take part ${index} of the work.` }),
          })),
        ],
      },
      stopReason: "tool_calls",
      incompleteCalls: 0,
      usage,
      milliseconds: 1,
    },
    {
      type: "tool.ended",
      callId,
      name: "Read",
      result: { outcome: "ok", content: [{ type: "text", text }] },
      milliseconds: 1,
    },
  ];
}

/** Returns text that differs for each seed, as in real conversations, because V8 may store equal strings only once. */
function wordsOf(seed: number, bytes: number): string {
  let text = "";
  for (let index = 0; text.length < bytes; index += 1) text += `${(seed * 7_919 + index * 104_729) % 99_991} `;
  return Buffer.from(text).toString("latin1", 0, bytes);
}

const head: Head = {
  provider: "anthropic",
  model: "bench-model",
  dialect: "anthropic",
  tools: [],
  system: "You help.",
  systemContext: "",
  userContext: "",
};

/** A journal that numbers lines but stores none. */
const nowhere: Journal = {
  sessionId: "s",
  append: async (_, events) =>
    events.map((event, index): Line => ({ v: 1, id: String(index + 1), parentId: null, at: 0, ...event })),
  sync: async () => {},
  syncSoon: () => {},
  read: async () => [],
  agents: async () => [],
  output: () => undefined,
  saveHead: async () => "h",
  loadHead: async () => head,
  close: async () => {},
};

/** Returns the bytes of memory in use after garbage collection no longer frees any. */
async function held(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  let last = Infinity;
  for (let round = 0; round < 20; round += 1) {
    await wait(20);
    collect();
    const { heapUsed, external } = process.memoryUsage();
    const now = heapUsed + external;
    if (now >= last) return now;
    last = now;
  }
  return last;
}
