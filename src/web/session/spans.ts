import type { ViewUpdate } from "../../client/index.ts";
import { type AgentId, type CallId, canonicalToolName } from "../../protocol/index.ts";

/** A turn, a call or a wait for approval of an agent, from its start to its end. Times in milliseconds since 1970. */
export interface Span {
  readonly kind: "model" | "tool" | "agents" | "asking";
  readonly start: number;
  /** Undefined while it lasts. */
  end?: number | undefined;
  /** Name of the tool. */
  readonly name: string;
  readonly callId?: CallId | undefined;
  isFailed?: boolean;
}

/**
 * The spans of all agents. There can be very many, and all of them are drawn on one canvas, so they are kept in arrays
 * that grow instead of in immutable data.
 */
export interface Spans {
  readonly lanes: Map<AgentId, Span[]>;
  /** Open spans by agent and call. */
  readonly open: Map<string, Span>;
  /** Names of the tools of calls that have not started, in the same way. */
  readonly names: Map<string, string>;
  readonly version: number;
  readonly start: number;
  readonly end: number;
}

export function noSpans(): Spans {
  return { lanes: new Map(), open: new Map(), names: new Map(), version: 0, start: 0, end: 0 };
}

/** Adds what an update says about time. Returns a new object with the same, changed maps. */
export function foldSpans(spans: Spans, { agentId, event }: ViewUpdate): Spans {
  if (!("at" in event)) return spans;
  const { at } = event;
  const begin = (key: string, span: Omit<Span, "start">): void => {
    const begun: Span = { ...span, start: at };
    const lane = spans.lanes.get(agentId);
    if (lane === undefined) spans.lanes.set(agentId, [begun]);
    else lane.push(begun);
    spans.open.set(`${agentId} ${key}`, begun);
  };
  const end = (key: string, isFailed = false): void => {
    const span = spans.open.get(`${agentId} ${key}`);
    if (span === undefined) return;
    span.end = at;
    span.isFailed = isFailed;
    spans.open.delete(`${agentId} ${key}`);
  };
  switch (event.type) {
    case "run.started":
      if (!spans.lanes.has(agentId)) spans.lanes.set(agentId, []);
      break;
    case "model.requested":
      begin("turn", { kind: "model", name: `turn ${event.turn}` });
      break;
    case "model.ended":
      end("turn");
      break;
    case "model.failed":
      end("turn", true);
      break;
    case "approval.requested":
      begin(`ask ${event.callId}`, { kind: "asking", name: event.name, callId: event.callId });
      break;
    case "approval.answered":
      end(`ask ${event.callId}`, event.answer === "deny");
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
      end(event.callId, event.result.outcome !== "ok");
      end(`ask ${event.callId}`);
      break;
    case "run.ended":
      for (const key of [...spans.open.keys()])
        if (key.startsWith(`${agentId} `)) end(key.slice(agentId.length + 1), event.outcome !== "succeeded");
      break;
    default:
      break;
  }
  return { ...spans, version: spans.version + 1, start: spans.start || at, end: Math.max(spans.end, at) };
}

function waitsForAgents(tool: string): boolean {
  return ["Task", "TaskOutput"].includes(canonicalToolName(tool));
}
