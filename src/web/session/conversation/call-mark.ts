import {
  type AgentView,
  type CallItem,
  isInBackground,
  isWaiting,
  outcomeMarks,
  stateOf,
} from "../../../client/index.ts";
import type { AgentId } from "../../../protocol/index.ts";

/** The sign of a call, and the tone that decides its color. */
export interface CallMark {
  readonly sign: string;
  readonly tone: string;
}

/** Returns the symbol and tone for a call. `missing` says why there is no result, if there will be none. */
export function markOf(call: CallItem, missing: string | undefined): CallMark {
  const { result } = call;
  if (result === undefined) {
    if (missing !== undefined) return { sign: "–", tone: "calm" };
    return isWaiting(call) ? { sign: "?", tone: "asking" } : { sign: "•", tone: "busy" };
  }
  // For a task, this is how its agent's run ended.
  const ending = result.details?.["outcome"];
  if (result.outcome === "cancelled" || ending === "stopped") return { sign: "–", tone: "calm" };
  if (result.outcome !== "ok") return { sign: "✗", tone: "bad" };
  // The report of an agent that was cut does not cover all of its work.
  return ending === "incomplete" ? { sign: "!", tone: "asking" } : { sign: "✓", tone: "good" };
}

/** Returns the agent that a call has started in the background; undefined if there is none. */
export function backgroundAgentOf(call: CallItem): AgentId | undefined {
  return isInBackground(call) ? call.agents?.at(-1) : undefined;
}

/** Returns the sign of an agent in the background. Undefined if a different call has continued it since. */
export function agentSign(agent: AgentView, { callId }: CallItem): string | undefined {
  if (agent.callId !== callId) return undefined;
  const state = stateOf(agent);
  if (state === "waitingForApproval") return "?";
  if (state !== "ended") return "•";
  return agent.end === undefined ? "!" : outcomeMarks[agent.end.outcome];
}
