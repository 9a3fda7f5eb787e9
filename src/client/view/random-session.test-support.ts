import fc from "fast-check";
import type { AgentLiveEvent, DurableEvent, SessionUpdate } from "../../protocol/index.ts";
import { answered, created, runEnded, started } from "./agent-events.test-support.ts";

type AgentEvent = DurableEvent | AgentLiveEvent;

const turn = fc.record({
  text: fc.constantFrom("", "I look.", "First line.\nSecond line."),
  calls: fc.array(fc.constantFrom("Read", "Bash", "Edit", "Task"), { maxLength: 3 }),
  deltas: fc.nat(3),
  isAsked: fc.boolean(),
  fails: fc.constantFrom("never", "never", "retried", "failed"),
});

const run = fc.record({
  turns: fc.array(turn, { maxLength: 3 }),
  background: fc.boolean(),
  extra: fc.subarray(["notice", "compaction", "hook", "queue", "told"] as const),
});

const agent = fc.record({ parent: fc.nat(), runs: fc.array(run, { minLength: 1, maxLength: 2 }) });

/** A whole session: interleaved updates from several agents, the first of which is the main agent. */
export const randomSession: fc.Arbitrary<readonly SessionUpdate[]> = fc
  .tuple(fc.array(agent, { minLength: 1, maxLength: 5 }), fc.infiniteStream(fc.nat()))
  .map(([agents, choices]) => {
    const paths: (readonly string[])[] = [];
    const queues = agents.map(({ parent, runs }, index) => {
      const above = index < 2 ? [] : (paths[1 + (parent % (index - 1))] ?? []);
      const path = index === 0 ? [] : [...above, `a${index}`];
      paths.push(path);
      const agentId = path.at(-1) ?? "main";
      const first: AgentEvent[] = index === 0 ? [sessionCreated] : [created(path)];
      return {
        agentId,
        parent: path.at(-2),
        events: [...first, ...runs.flatMap((each, at) => runEvents(each, `${agentId}r${at}`))],
      };
    });
    return numbered(mixed(queues, choices));
  });

const sessionCreated: DurableEvent = {
  type: "session.created",
  sessionId: "s",
  cwd: "/w",
  version: "0",
  serializer: 1,
};

interface Queue {
  readonly agentId: string;
  /** Agent that must begin first. */
  readonly parent: string | undefined;
  readonly events: readonly AgentEvent[];
}

function mixed(
  queues: readonly Queue[],
  choices: fc.Stream<number>,
): readonly { agentId: string; event: AgentEvent }[] {
  const left = queues.map((queue) => ({ ...queue, events: [...queue.events] }));
  const begun = new Set<string>();
  const order: { agentId: string; event: AgentEvent }[] = [];
  for (;;) {
    const ready = left.filter(
      ({ events, agentId, parent }) =>
        events.length > 0 && (agentId === "main" || begun.has("main")) && (parent === undefined || begun.has(parent)),
    );
    const queue = ready[(choices.next().value ?? 0) % ready.length];
    const event = queue?.events.shift();
    if (queue === undefined || event === undefined) return order;
    begun.add(queue.agentId);
    order.push({ agentId: queue.agentId, event });
  }
}

function numbered(updates: readonly { agentId: string; event: AgentEvent }[]): readonly SessionUpdate[] {
  let seq = 0;
  const ids = new Map<string, number>();
  return updates.map(({ agentId, event }) => {
    if (isLive(event)) return { agentId, event };
    seq += 1;
    const id = (ids.get(agentId) ?? 0) + 1;
    ids.set(agentId, id);
    const line = { ...event, v: 1 as const, id: String(id), parentId: null, seq, at: 1_000 + seq };
    return { agentId, seq, event: line };
  });
}

function isLive(event: AgentEvent): event is AgentLiveEvent {
  return event.type.endsWith(".delta") || event.type === "tool.progressed";
}

type Generated<T> = T extends fc.Arbitrary<infer Value> ? Value : never;

function runEvents({ turns, background, extra }: Generated<typeof run>, runId: string): readonly AgentEvent[] {
  return [
    { ...started(background ? { background: true } : {}), runId } as DurableEvent,
    { type: "prompt.received", content: [{ type: "text", text: "Do it." }], from: "person", promptId: "p1" },
    ...extra.flatMap((kind) => extras[kind]),
    ...turns.flatMap((each, at) => turnEvents(each, `${runId}t${at}`)),
    { ...runEnded({ turns: turns.length }), runId } as DurableEvent,
  ];
}

const extras: Readonly<Record<Generated<typeof run>["extra"][number], readonly DurableEvent[]>> = {
  notice: [{ type: "notice.raised", code: "x", message: "Look." }],
  compaction: [{ type: "conversation.compacted", summary: "So far.", kept: 1, trigger: "auto" }],
  hook: [{ type: "hooks.ran", event: "Stop", ran: 1, decision: "deny", reason: "Not yet." }],
  queue: [{ type: "prompt.queued", promptId: "p2", content: [{ type: "text", text: "Later." }] }],
  told: [{ type: "context.added", cause: "reminder", text: "Finish soon." }],
};

function turnEvents(
  { text, calls, deltas, isAsked, fails }: Generated<typeof turn>,
  id: string,
): readonly AgentEvent[] {
  const live: AgentEvent[] = Array.from({ length: deltas }, (_, at) =>
    at === 0 ? { type: "thinking.delta", turn: 1, text: "hm" } : { type: "text.delta", turn: 1, text: `part ${at}` },
  );
  if (calls.length > 0 && deltas > 0) live.push({ type: "call.delta", turn: 1, index: 0, name: "Read", json: "{" });
  const asked: AgentEvent[] = [{ type: "model.requested", turn: 1 }, ...live];
  const error = { code: "overloaded", message: "busy" } as never;
  if (fails === "failed") return [...asked, { type: "model.failed", turn: 1, error, partial: [], milliseconds: 1 }];
  const retry = { attempt: 1, maxAttempts: 3, delayMs: 5, status: 500, error: "busy" };
  const retried: AgentEvent[] = fails === "retried" ? [{ type: "model.retried", turn: 1, retry }, ...live] : [];
  const response = answered(
    text,
    calls.map((name) => ({ name, input: { file_path: "src/a.ts", command: "ls" } })),
  );
  const withIds = JSON.parse(JSON.stringify(response).replace(/"c(\d)"/g, `"${id}c$1"`)) as DurableEvent;
  return [...asked, ...retried, withIds, ...calls.flatMap((name, at) => callEvents(`${id}c${at}`, name, isAsked))];
}

function callEvents(callId: string, name: string, isAsked: boolean): readonly AgentEvent[] {
  const requestId = `ask_${callId}`;
  const approval: AgentEvent[] = [
    { type: "approval.requested", requestId, callId, name, inputJson: "{}", reason: "No rule." },
    { type: "approval.answered", requestId, callId, answer: "allow", by: "me", inputJson: '{"command":"ls -a"}' },
  ];
  return [
    { type: "tool.requested", callId, name },
    ...(isAsked ? approval : []),
    { type: "tool.started", callId },
    { type: "tool.progressed", callId, text: "half" },
    {
      type: "tool.ended",
      callId,
      name,
      result: { outcome: "ok", content: [{ type: "text", text: "fine" }] },
      milliseconds: 1,
    },
  ];
}
