import type { RunEvent, SessionUpdate } from "../events/event.ts";
import { type AgentId, MAIN_AGENT } from "../ids.ts";

type EventType = SessionUpdate["event"]["type"];

/** Maps each event name in transcripts to the name that clients see. */
export const wireNames = {
  "session.created": "session_created",
  "agent.created": "agent_created",
  "agent.spawned": "agent_spawned",
  "agent.resumed": "agent_resumed",
  "run.started": "turn_started",
  "run.backgrounded": "run_backgrounded",
  "run.awaited": "run_awaited",
  "wait.ended": "wait_ended",
  "run.delayed": "run_delayed",
  "run.continued": "run_continued",
  "plan.entered": "plan_entered",
  "plan.left": "plan_left",
  "mode.changed": "mode_changed",
  "notices.delivered": "notices_delivered",
  "head.set": "head_set",
  "prompt.queued": "prompt_queued",
  "prompt.withdrawn": "prompt_withdrawn",
  "prompt.received": "prompt_received",
  "context.added": "context_added",
  "model.requested": "model_requested",
  "spend.reserved": "spend_reserved",
  "spend.recorded": "spend_recorded",
  "model.retried": "model_retried",
  "model.ended": "model_ended",
  "model.failed": "model_failed",
  "tool.requested": "tool_requested",
  "approval.requested": "tool_approval_required",
  "approval.answered": "tool_approval_answered",
  "tool.started": "tool_started",
  "tool.ended": "tool_ended",
  "conversation.compacted": "conversation_compacted",
  "conversation.rewound": "conversation_rewound",
  "thinking.dropped": "thinking_dropped",
  "cache.missed": "cache_missed",
  "notice.raised": "notice_raised",
  "hooks.started": "hooks_started",
  "hooks.ran": "hooks_ran",
  "run.ended": "turn_complete",
  "acceptance.checked": "acceptance_checked",
  "run.cleaned": "run_cleaned",
  "text.delta": "text_delta",
  "thinking.delta": "thinking_delta",
  "call.delta": "call_delta",
  "tool.progressed": "tool_progressed",
} as const satisfies Record<EventType, string>;

type WireName = (typeof wireNames)[EventType];

/** An event as it is sent to clients: the same fields as in the transcript, with a name from `wireNames`. */
export type WireEvent = Omit<RunEvent, "type"> & { readonly type: WireName };

/** An update from a session as it is sent to clients. The main agent's events are sent without an envelope. */
export type WireUpdate = WireEvent | SubagentEnvelope;

/** An event from a subagent at any depth. */
export interface SubagentEnvelope {
  readonly type: "subagent_event";
  readonly agentType: string;
  /** Id of the subagent. */
  readonly sessionId: AgentId;
  /** Ids of the agents from the main agent's child down to this one. */
  readonly path: readonly AgentId[];
  /** Position in the session. Absent for a live event. */
  readonly seq?: number | undefined;
  readonly event: WireEvent;
}

/** Information about a subagent that clients need in order to show its events. */
export type WireAgent = Pick<SubagentEnvelope, "agentType" | "path">;

/** Converts a session update to the form that is sent to clients. */
export function toWire({ agentId, seq, event }: SessionUpdate, agent: WireAgent): WireUpdate {
  const sent = { ...event, type: wireNames[event.type] } as WireEvent;
  if (agentId === MAIN_AGENT) return sent;
  return { type: "subagent_event", agentType: agent.agentType, sessionId: agentId, path: agent.path, seq, event: sent };
}

const names = new Map<string, EventType>(
  Object.entries(wireNames).map(([name, wireName]) => [wireName, name as EventType]),
);

/** Converts an update back to its transcript form. Returns undefined for an unknown event from a newer server. */
export function fromWire(update: WireUpdate): SessionUpdate | undefined {
  const [agentId, sent] =
    update.type === "subagent_event" ? [update.sessionId, update.event] : ([MAIN_AGENT, update] as const);
  // A server can send anything.
  const type = names.get(sent?.type);
  if (type === undefined) return undefined;
  const event = { ...sent, type } as unknown as SessionUpdate["event"];
  return { agentId, seq: "seq" in event ? event.seq : undefined, event };
}
