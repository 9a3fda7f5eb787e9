import {
  type AgentId,
  type CallId,
  type CallOutcome,
  callsOf,
  canonicalToolName,
  type EventOf,
  type Line,
  type ToolCall,
} from "../../protocol/index.ts";
import { describeCall } from "../words/describe-call.ts";
import type { ViewUpdate } from "./fold-session.ts";
import { tokensOf } from "./session-view.ts";

/** An agent's turn, call or wait for approval, from its start to its end. Times are in milliseconds since 1970. */
export interface Span {
  readonly kind: "model" | "tool" | "agents" | "asking";
  readonly start: number;
  /** Undefined while the span is open. */
  end?: number | undefined;
  /** Name of the tool, or `turn 3`. */
  readonly name: string;
  /** What the call is about, such as its command or file, in at most 120 characters. */
  readonly target?: string | undefined;
  readonly callId?: CallId | undefined;
  /** Number of the turn, for a request to the model. */
  readonly turn?: number | undefined;
  /** First call in the response, if the response has no text. */
  firstCallId?: CallId | undefined;
  /** Row among the agent's simultaneous spans, starting at 0. */
  readonly row: number;
  tokens?: number | undefined;
  costUsd?: number | undefined;
  /** Set if the turn or call failed, was stopped with its run, or was lost with its process. */
  result?: "failed" | "stopped" | "lost" | undefined;
}

/** One agent's spans, oldest first. */
export interface SpanLane {
  readonly spans: Span[];
  /** Open spans by turn or call. */
  readonly open: Map<string, Span>;
  /** Names and targets of calls that have not started. */
  readonly names: Map<CallId, Pick<Span, "name" | "target">>;
}

/**
 * The spans of all agents. There can be very many, and all of them are drawn on one canvas, so they are kept in growing
 * arrays instead of immutable data.
 */
export interface Spans {
  readonly lanes: Map<AgentId, SpanLane>;
  /** Increases with each change. */
  readonly version: number;
  readonly start: number;
  readonly end: number;
  /** Time of the last line, not counting lines that a new process writes to end what a lost process left open. */
  readonly aliveAt: number;
  /** Times of the last lines before processes were lost while agents were working, oldest first. */
  readonly losses: readonly number[];
}

/** Returns the spans of a session before its first update. */
export function noSpans(): Spans {
  return { lanes: new Map(), version: 0, start: 0, end: 0, aliveAt: 0, losses: [] };
}

/**
 * Applies an update. Changes the lanes in place and returns them in a new object. An update that can't be parsed has no
 * effect.
 */
export function foldSpans(spans: Spans, { agentId, event }: ViewUpdate): Spans {
  if (!("at" in event)) return spans;
  const { at } = event;
  const lane = laneOf(spans, agentId);
  const isLeft = isLeftByLostProcess(event);
  const { losses } = isLeft ? withLoss(spans, lane) : spans;
  try {
    foldLine(lane, event);
  } catch {
    // The view counts damaged lines.
    return spans;
  }
  const aliveAt = isLeft ? spans.aliveAt : Math.max(spans.aliveAt, at);
  const version = spans.version + 1;
  return { ...spans, version, start: spans.start || at, end: Math.max(spans.end, at), aliveAt, losses };
}

/**
 * Notes that no process has the session open anymore. Spans that are still open were lost with the last process.
 * Changes the lanes in place and returns them in a new object.
 */
export function spansClosed(spans: Spans): Spans {
  return [...spans.lanes.values()].reduce(withLoss, { ...spans, version: spans.version + 1 });
}

/** Returns whether a new process has recorded this line to end what a lost process left open. */
function isLeftByLostProcess(event: Line): boolean {
  switch (event.type) {
    case "spend.recorded":
      return event.estimated === true;
    case "tool.ended":
      return event.result?.outcome === "unknown";
    case "run.ended":
      return event.reason === "process_lost";
    default:
      return false;
  }
}

/** Ends an agent's open spans at the time when their process was lost. */
function withLoss(spans: Spans, { open }: SpanLane): Spans {
  if (open.size === 0) return spans;
  const left = [...open.values()];
  const last = spans.losses.at(-1);
  // The same loss may have ended the spans of other agents.
  const isKnown = last !== undefined && left.every(({ start }) => start <= last);
  const lostAt = isKnown ? last : spans.aliveAt;
  for (const span of left) {
    span.end = lostAt;
    span.result = "lost";
  }
  open.clear();
  return isKnown ? spans : { ...spans, losses: [...spans.losses, lostAt] };
}

function laneOf({ lanes }: Spans, agentId: AgentId): SpanLane {
  const known = lanes.get(agentId);
  if (known !== undefined) return known;
  const lane = { spans: [], open: new Map(), names: new Map() };
  lanes.set(agentId, lane);
  return lane;
}

function foldLine(lane: SpanLane, event: Line): void {
  const { spans, open, names } = lane;
  const end = (key: string, result?: Span["result"]): Span | undefined => {
    const span = open.get(key);
    if (span === undefined) return undefined;
    span.end = event.at;
    span.result = result;
    open.delete(key);
    return span;
  };
  const begin = (key: string, span: Omit<Span, "start" | "row">): void => {
    // The line that ended the previous span may be damaged.
    end(key);
    const begun: Span = { ...span, start: event.at, row: freeRow(lane) };
    spans.push(begun);
    open.set(key, begun);
  };
  switch (event.type) {
    case "model.requested":
      begin("turn", { kind: "model", name: `turn ${event.turn}`, turn: event.turn });
      break;
    case "model.ended":
      addResponse(end("turn"), event);
      for (const call of callsOf(event.message)) names.set(call.callId, { name: call.name, target: targetOf(call) });
      break;
    case "model.failed":
      end("turn", "failed");
      break;
    case "approval.requested":
      begin(`ask ${event.callId}`, { kind: "asking", name: event.name, target: targetOf(event), callId: event.callId });
      break;
    case "approval.answered":
      end(`ask ${event.callId}`);
      break;
    case "tool.requested":
      names.set(event.callId, { ...names.get(event.callId), name: event.name });
      break;
    case "tool.started": {
      const { name = "", target } = names.get(event.callId) ?? {};
      begin(event.callId, { kind: waitsForAgents(name) ? "agents" : "tool", name, target, callId: event.callId });
      names.delete(event.callId);
      break;
    }
    case "tool.ended":
      names.delete(event.callId);
      end(event.callId, resultOf(event.result.outcome));
      end(`ask ${event.callId}`);
      break;
    case "run.ended": {
      for (const key of [...open.keys()]) end(key, endOf(event));
      const last = spans.at(-1);
      // A request that is stopped with its run is first recorded as failed.
      if (event.outcome === "stopped" && last?.kind === "model" && last.result === "failed") last.result = "stopped";
      break;
    }
    default:
      break;
  }
}

/** Maximum length of a target. The timeline needs only enough of it to recognize the call. */
const MAX_TARGET = 120;

function targetOf(call: Pick<ToolCall, "name" | "inputJson">): string | undefined {
  const target = describeCall(call);
  return (target.length > MAX_TARGET ? `${target.slice(0, MAX_TARGET - 1)}…` : target) || undefined;
}

/** Maximum number of rows for an agent. Further spans share the last one. */
const MAX_ROWS = 6;

/** Returns the first row that has no open span. */
function freeRow({ open }: SpanLane): number {
  const busy = new Set([...open.values()].map(({ row }) => row));
  let row = 0;
  while (busy.has(row) && row < MAX_ROWS - 1) row++;
  return row;
}

function waitsForAgents(tool: string): boolean {
  return ["Task", "TaskOutput"].includes(canonicalToolName(tool));
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

function endOf({ outcome }: EventOf<"run.ended">): Span["result"] {
  return outcome === "failed" ? "failed" : outcome === "succeeded" ? undefined : "stopped";
}
