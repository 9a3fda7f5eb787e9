import type { AgentId, CallId } from "../../../protocol/index.ts";
import { createStore } from "../../state/store.ts";

/** The call that was chosen in the timeline. Its line opens and scrolls into view. */
export const focusedCall = createStore<CallId | undefined>(undefined);

/** The turn that was chosen in the timeline, as a key. Its text scrolls into view. */
export const focusedTurn = createStore<string | undefined>(undefined);

/** Returns a key for a turn. Turns of different agents have the same numbers. */
export function turnKey(agentId: AgentId, turn: number): string {
  return `${agentId} ${turn}`;
}
