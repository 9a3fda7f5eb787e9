import type { CallId } from "../../protocol/index.ts";
import { createStore } from "../state/store.ts";

/** The call that was chosen in the timeline. Its line opens and scrolls into view. */
export const focusedCall = createStore<CallId | undefined>(undefined);

/** The turn that was chosen in the timeline. Its text scrolls into view. */
export const focusedTurn = createStore<number | undefined>(undefined);
