import type { AgentId, CallId, LineId } from "../ids.ts";
import type { DurableEvent } from "./durable-event.ts";

export type RunEvent = DurableEvent | LiveEvent;
export type EventOf<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>;

/**
 * An event that is sent as it happens and never replayed. Everything important is recorded in a durable event later.
 */
export type LiveEvent =
  | ({ readonly type: "text.delta"; readonly turn: number; readonly text: string } & Repeatable)
  | ({ readonly type: "thinking.delta"; readonly turn: number; readonly text: string } & Repeatable)
  | ({
      readonly type: "call.delta";
      readonly turn: number;
      readonly index: number;
      readonly name: string;
      readonly json: string;
    } & Repeatable)
  | { readonly type: "tool.progressed"; readonly callId: CallId; readonly text: string }
  | SubagentEvent;

interface Repeatable {
  /**
   * Index of the part of the response, starting at 0. Set only if the event repeats a part that was written before the
   * reader connected. Part 0 restarts the response.
   */
  readonly repeated?: number | undefined;
  /** Set if the parts of the response just before this one were dropped because the reader is too slow. */
  readonly isAfterGap?: true | undefined;
}

/** A subagent's event, forwarded to the readers of the main agent's run. */
export interface SubagentEvent {
  readonly type: "subagent.event";
  readonly agentId: AgentId;
  readonly agentType: string;
  /** Ids of the agents from the main agent's child down to this one. */
  readonly path: readonly AgentId[];
  readonly event: Line | AgentLiveEvent;
}

/** An update from a run as clients see it: recorded lines in order, with live events between them. */
export type RunUpdate = Line | LiveEvent;

/** An update from a session as clients see it: lines of all agents in order, with live events between them. */
export interface SessionUpdate {
  readonly agentId: AgentId;
  /** Position in the session, from which reading can continue. Absent for a live event. */
  readonly seq?: number | undefined;
  readonly event: Line | AgentLiveEvent;
}

/** A live event from the agent itself, not from a subagent. */
export type AgentLiveEvent = Exclude<LiveEvent, SubagentEvent>;

/** A line in a transcript. `id` is its sequence number, and `parentId` is that of the line before it. */
export type Line = LineEnvelope & DurableEvent;

export interface LineEnvelope {
  readonly v: 1;
  readonly id: LineId;
  readonly parentId: LineId | null;
  /**
   * Number of the line in its session, in the order the lines of all agents were written. Numbers may be missing.
   * Absent in lines that were written by earlier versions.
   */
  readonly seq?: number | undefined;
  /** Time in milliseconds since 1970, for display. Lines are ordered by id. */
  readonly at: number;
}

/** Durable events are journaled, numbered and replayable; live events may be dropped. */
export type Delivery = "durable" | "live";

export const delivery = {
  "session.created": "durable",
  "agent.created": "durable",
  "agent.spawned": "durable",
  "agent.resumed": "durable",
  "run.started": "durable",
  "run.backgrounded": "durable",
  "run.awaited": "durable",
  "wait.ended": "durable",
  "run.delayed": "durable",
  "run.continued": "durable",
  "plan.entered": "durable",
  "plan.left": "durable",
  "mode.changed": "durable",
  "notices.delivered": "durable",
  "head.set": "durable",
  "prompt.queued": "durable",
  "prompt.withdrawn": "durable",
  "prompt.received": "durable",
  "context.added": "durable",
  "model.requested": "durable",
  "spend.reserved": "durable",
  "spend.recorded": "durable",
  "model.retried": "durable",
  "model.ended": "durable",
  "model.failed": "durable",
  "tool.requested": "durable",
  "approval.requested": "durable",
  "approval.answered": "durable",
  "tool.started": "durable",
  "tool.ended": "durable",
  "conversation.compacted": "durable",
  "conversation.rewound": "durable",
  "thinking.dropped": "durable",
  "cache.missed": "durable",
  "notice.raised": "durable",
  "hooks.started": "durable",
  "hooks.ran": "durable",
  "run.ended": "durable",
  "acceptance.checked": "durable",
  "run.cleaned": "durable",
  "text.delta": "live",
  "thinking.delta": "live",
  "call.delta": "live",
  "tool.progressed": "live",
  "subagent.event": "live",
} as const satisfies Record<RunEvent["type"], Delivery>;
