import { type CleanUp, cleanUpDaily as cleanUpFiles } from "../transcript/index.ts";
import { systemClock } from "./system-clock.ts";

/** Deletes sessions nobody used for so many days (0 = never), no more than once a day. Undefined: not due. */
export function cleanUpDaily(place: { readonly home: string; readonly days: number }): Promise<CleanUp | undefined> {
  return cleanUpFiles({ ...place, clock: systemClock });
}
