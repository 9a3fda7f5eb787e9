import type { DurableEvent } from "./durable-event.ts";
import type { AgentId, CallId, LineId } from "./ids.ts";

export type RunEvent = DurableEvent | LiveEvent;
export type EventOf<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>;

/** Seen while it happens, never replayed; what counts of it stands in a durable event later. */
export type LiveEvent =
  | { readonly type: "text.delta"; readonly turn: number; readonly text: string }
  | { readonly type: "thinking.delta"; readonly turn: number; readonly text: string }
  | {
      readonly type: "call.delta";
      readonly turn: number;
      readonly index: number;
      readonly name: string;
      readonly json: string;
    }
  | { readonly type: "tool.progressed"; readonly callId: CallId; readonly text: string }
  /** What happens in a subagent, told to who reads the main agent's run. */
  | SubagentEvent;

export interface SubagentEvent {
  readonly type: "subagent.event";
  readonly agentId: AgentId;
  readonly agentType: string;
  /** From the main agent's child down to this agent. */
  readonly path: readonly AgentId[];
  readonly event: Line | Exclude<LiveEvent, SubagentEvent>;
}

/** What a face sees of a run, in order: recorded lines, and live events between them. */
export type RunUpdate = Line | LiveEvent;

/** A line of a transcript. `id` is its sequence number; `parentId` the line before it. */
export type Line = LineEnvelope & DurableEvent;

export interface LineEnvelope {
  readonly v: 1;
  readonly id: LineId;
  readonly parentId: LineId | null;
  /** Milliseconds since 1970, for people; order is by id. */
  readonly at: number;
}
