import {
  type DurableEvent,
  type EventOf,
  type Line,
  noFacts,
  noUsage,
  type RunEnd,
  type SubagentEvent,
} from "../../protocol/index.ts";

export function line(event: DurableEvent, at = 0): Line {
  return { v: 1, id: "1", parentId: null, at, ...event };
}

/** Wraps an event from the subagent at this path. */
export function fromAgent(path: readonly string[], event: DurableEvent | SubagentEvent["event"]): SubagentEvent {
  const whole = isLive(event) || "id" in event ? event : line(event as DurableEvent);
  return {
    type: "subagent.event",
    agentId: path.at(-1) ?? "",
    agentType: "Explore",
    path,
    event: whole as SubagentEvent["event"],
  };
}

function isLive({ type }: { readonly type: string }): boolean {
  return type.endsWith(".delta") || type === "tool.progressed";
}

export const created = (path: readonly string[], description = "find the router"): DurableEvent => ({
  type: "agent.created",
  sessionId: "s",
  agentId: path.at(-1) ?? "",
  agentType: "Explore",
  description,
  parent: { agentId: path.at(-2) ?? "main", callId: `call_${path.at(-1)}` },
  depth: path.length,
  cwd: "/",
  version: "0",
  serializer: 1,
});

export const started = (more: Partial<Pick<EventOf<"run.started">, "background" | "color">> = {}): DurableEvent => ({
  type: "run.started",
  runId: "r",
  agentId: "a",
  agentType: "Explore",
  kind: "fresh",
  requestedModel: null,
  provider: "p",
  model: "m",
  modelReason: "",
  permissionMode: "default",
  maxTurns: 5,
  ...more,
});

export const answered = (text: string, calls: readonly { name: string; input: object }[] = []): DurableEvent => ({
  type: "model.ended",
  turn: 1,
  message: {
    role: "assistant",
    content: [
      ...(text === "" ? [] : [{ type: "text", text } as const]),
      ...calls.map(
        ({ name, input }, index) =>
          ({ type: "tool_call", callId: `c${index}`, name, inputJson: JSON.stringify(input) }) as const,
      ),
    ],
  },
  stopReason: calls.length > 0 ? "tool_calls" : "end_turn",
  incompleteCalls: 0,
  usage: { ...noUsage, inputTokens: 1_000, outputTokens: 34 },
  costUsd: 0.5,
  milliseconds: 5,
});

export const runEnded = (more: Partial<RunEnd> = {}): DurableEvent => ({
  type: "run.ended",
  runId: "r",
  outcome: "succeeded",
  reason: "done",
  text: "done",
  turns: 1,
  usage: { ...noUsage, inputTokens: 1_000, outputTokens: 34 },
  costUsd: 0.5,
  milliseconds: 4_000,
  modelMilliseconds: 5,
  facts: noFacts,
  ...more,
});
