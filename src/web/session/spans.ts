import { tokensOf, type ViewUpdate } from "../../client/index.ts";
import {
  type AgentId,
  type CallId,
  type CallOutcome,
  callsOf,
  canonicalToolName,
  type EventOf,
  type Outcome,
} from "../../protocol/index.ts";

/** A turn, a call or a wait for approval of an agent, from its start to its end. Times in milliseconds since 1970. */
export interface Span {
  readonly kind: "model" | "tool" | "agents" | "asking";
  readonly start: number;
  /** Undefined while the span is open. */
  end?: number | undefined;
  /** Name of the tool, or `turn 3`. */
  readonly name: string;
  readonly callId?: CallId | undefined;
  /** Number of the turn, for a request to the model. */
  readonly turn?: number | undefined;
  /** First call of the response, if the response has no text. */
  firstCallId?: CallId | undefined;
  /** Place among the spans of the agent at the same time, starting at 0. */
  readonly row: number;
  tokens?: number | undefined;
  costUsd?: number | undefined;
  /** Set if it failed, or was stopped with its run. */
  result?: "failed" | "stopped" | undefined;
}

/** Number of rows of an agent. Spans beyond that share the last one. */
const MAX_ROWS = 6;

/**
 * The spans of all agents. There can be very many, and all of them are drawn on one canvas, so they are kept in arrays
 * that grow instead of in immutable data.
 */
export interface Spans {
  readonly lanes: Map<AgentId, Span[]>;
  /** Open spans by agent and call. */
  readonly open: Map<string, Span>;
  /** Rows that have an open span, by agent. */
  readonly busy: Map<AgentId, Set<number>>;
  /** Tool names of calls that have not started, by agent and call. */
  readonly names: Map<string, string>;
  readonly version: number;
  readonly start: number;
  readonly end: number;
}

export function noSpans(): Spans {
  return { lanes: new Map(), open: new Map(), busy: new Map(), names: new Map(), version: 0, start: 0, end: 0 };
}

/** Applies an update. Changes the maps in place and returns them in a new object. */
export function foldSpans(spans: Spans, { agentId, event }: ViewUpdate): Spans {
  if (!("at" in event)) return spans;
  const { at } = event;
  const begin = (key: string, span: Omit<Span, "start" | "row">): void => {
    const begun: Span = { ...span, start: at, row: freeRow(spans.busy, agentId) };
    const lane = spans.lanes.get(agentId);
    if (lane === undefined) spans.lanes.set(agentId, [begun]);
    else lane.push(begun);
    spans.open.set(`${agentId} ${key}`, begun);
  };
  const end = (key: string, result?: Span["result"]): Span | undefined => {
    const span = spans.open.get(`${agentId} ${key}`);
    if (span === undefined) return undefined;
    span.end = at;
    span.result = result;
    spans.open.delete(`${agentId} ${key}`);
    spans.busy.get(agentId)?.delete(span.row);
    return span;
  };
  switch (event.type) {
    case "run.started":
      if (!spans.lanes.has(agentId)) spans.lanes.set(agentId, []);
      break;
    case "model.requested":
      begin("turn", { kind: "model", name: `turn ${event.turn}`, turn: event.turn });
      break;
    case "model.ended":
      addResponse(end("turn"), event);
      break;
    case "model.failed":
      end("turn", "failed");
      break;
    case "approval.requested":
      begin(`ask ${event.callId}`, { kind: "asking", name: event.name, callId: event.callId });
      break;
    case "approval.answered":
      end(`ask ${event.callId}`);
      break;
    case "tool.requested":
      spans.names.set(`${agentId} ${event.callId}`, event.name);
      break;
    case "tool.started": {
      const key = `${agentId} ${event.callId}`;
      const name = spans.names.get(key) ?? "";
      begin(event.callId, { kind: waitsForAgents(name) ? "agents" : "tool", name, callId: event.callId });
      spans.names.delete(key);
      break;
    }
    case "tool.ended":
      spans.names.delete(`${agentId} ${event.callId}`);
      end(event.callId, resultOf(event.result.outcome));
      end(`ask ${event.callId}`);
      break;
    case "run.ended":
      for (const key of [...spans.open.keys()])
        if (key.startsWith(`${agentId} `)) end(key.slice(agentId.length + 1), endOf(event.outcome));
      // A request that is stopped with its run is recorded as failed first.
      if (event.outcome === "stopped") {
        const last = spans.lanes.get(agentId)?.at(-1);
        if (last?.kind === "model" && last.result === "failed") last.result = "stopped";
      }
      break;
    default:
      break;
  }
  return { ...spans, version: spans.version + 1, start: spans.start || at, end: Math.max(spans.end, at) };
}

function waitsForAgents(tool: string): boolean {
  return ["Task", "TaskOutput"].includes(canonicalToolName(tool));
}

function freeRow(busy: Spans["busy"], agentId: AgentId): number {
  const rows = busy.get(agentId) ?? new Set();
  busy.set(agentId, rows);
  let row = 0;
  while (rows.has(row) && row < MAX_ROWS - 1) row++;
  rows.add(row);
  return row;
}

function addResponse(span: Span | undefined, { usage, costUsd, message }: EventOf<"model.ended">): void {
  if (span === undefined) return;
  span.tokens = tokensOf(usage);
  span.costUsd = costUsd;
  const hasText = message.content.some((block) => block.type === "text" && block.text !== "");
  if (!hasText) span.firstCallId = callsOf(message)[0]?.callId;
}

function resultOf(outcome: CallOutcome): Span["result"] {
  if (outcome === "cancelled" || outcome === "denied") return "stopped";
  return outcome === "ok" ? undefined : "failed";
}

function endOf(outcome: Outcome): Span["result"] {
  return outcome === "failed" ? "failed" : outcome === "succeeded" ? undefined : "stopped";
}
