import { foldSession, newSessionView, type SessionView, totalsOf } from "../src/client/index.ts";
import { type DurableEvent, type Line, noUsage, type SessionUpdate } from "../src/protocol/index.ts";
import { median } from "./client.ts";
import type { Figure } from "./figure.ts";

const EVENTS = 50_000;

/**
 * Measures a session's view. The baseline of the first figure only parses the same events, as every client must. The
 * baseline of the second figure is a session with the same number of events but few agents.
 */
export async function viewCase(): Promise<Figure[]> {
  const many = updatesOf(1_000);
  const few = updatesOf(10);
  const texts = many.map((update) => JSON.stringify(update));
  const [ours, parsing, withFew, kept]: number[][] = [[], [], [], []];
  for (let round = 0; round < 7; round += 1) {
    parsing?.push(timeOf(() => texts.map((text) => JSON.parse(text) as unknown)));
    withFew?.push(timeOf(() => viewOf(few)));
    ours?.push(timeOf(() => viewOf(many)));
    kept?.push(timeOf(() => viewOf(many, 20)));
  }
  const time = median(ours ?? []);
  return [
    {
      name: "view of 50,000 events of 1,000 agents",
      ours: time,
      baseline: median(parsing ?? []),
      unit: "ms",
      limit: 6,
    },
    { name: "the same, against 10 agents", ours: time, baseline: median(withFew ?? []), unit: "ms", limit: 3 },
    { name: "the same, with 20 items per agent", ours: median(kept ?? []), baseline: time, unit: "ms", limit: 2 },
    { name: "milliseconds in all", ours: Math.round(time), baseline: 0, unit: "ms", limit: 1_000, kind: "value" },
  ];
}

function viewOf(updates: readonly SessionUpdate[], keep?: number): SessionView {
  const view = updates.reduce(foldSession, newSessionView({ keep }));
  if (view.skipped > 0 || totalsOf(view).states.running < 1) throw new Error("The view is wrong.");
  return view;
}

/** Returns the updates of a session in which all agents work at the same time, so that consecutive events come from different agents. */
function updatesOf(agents: number): readonly SessionUpdate[] {
  const updates: SessionUpdate[] = [];
  const add = (agentId: string, event: DurableEvent): void => {
    const seq = updates.length + 1;
    const line: Line = { v: 1, id: String(seq), parentId: null, seq, at: seq, ...event };
    updates.push({ agentId, seq, event: line });
  };
  const ids = Array.from({ length: agents }, (_, index) => (index === 0 ? "main" : `a${index}`));
  for (const agentId of ids) {
    if (agentId !== "main") add(agentId, created(agentId));
    add(agentId, started(agentId));
  }
  for (let turn = 1; updates.length < EVENTS; turn += 1) {
    for (const agentId of ids) add(agentId, { type: "model.requested", turn });
    for (const agentId of ids)
      for (const text of ["I ", "look."]) updates.push({ agentId, event: { type: "text.delta", turn, text } });
    for (const agentId of ids) add(agentId, answered(`${agentId}t${turn}`, turn));
    for (const type of ["tool.requested", "tool.started", "tool.ended"] as const)
      for (const agentId of ids) add(agentId, callEvent(type, `${agentId}t${turn}`));
  }
  return updates.slice(0, EVENTS);
}

const created = (agentId: string): DurableEvent => ({
  type: "agent.created",
  sessionId: "s",
  agentId,
  agentType: "general-purpose",
  description: "a part",
  parent: { agentId: "main", callId: `call_${agentId}` },
  depth: 1,
  cwd: "/w",
  version: "0",
  serializer: 1,
});

const started = (agentId: string): DurableEvent => ({
  type: "run.started",
  runId: `r${agentId}`,
  agentId,
  agentType: "general-purpose",
  kind: "fresh",
  requestedModel: null,
  provider: "p",
  model: "m",
  modelReason: "",
  permissionMode: "default",
  maxTurns: 50,
});

const answered = (callId: string, turn: number): DurableEvent => ({
  type: "model.ended",
  turn,
  message: {
    role: "assistant",
    content: [
      { type: "text", text: "I look." },
      { type: "tool_call", callId, name: "Read", inputJson: '{"file_path":"src/invoice/total.ts"}' },
    ],
  },
  stopReason: "tool_calls",
  incompleteCalls: 0,
  usage: { ...noUsage, inputTokens: 1_000, outputTokens: 34 },
  costUsd: 0.001,
  milliseconds: 5,
});

function callEvent(type: "tool.requested" | "tool.started" | "tool.ended", callId: string): DurableEvent {
  if (type === "tool.requested") return { type, callId, name: "Read" };
  if (type === "tool.started") return { type, callId };
  const content = [{ type: "text", text: "a line of the file\n".repeat(20) }] as const;
  return { type, callId, name: "Read", result: { outcome: "ok", content, details: { lines: 20 } }, milliseconds: 3 };
}

function timeOf(work: () => unknown): number {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
}
