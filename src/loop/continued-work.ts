import { addFacts, addUsage, type DurableEvent, isUnfinished, type RunEnd } from "../protocol/index.ts";
import { sumCosts } from "./under-way.ts";

/** What runs did that were lost with their process or parked, one continuing the other. */
export type WorkDone = Pick<
  RunEnd,
  "text" | "turns" | "usage" | "costUsd" | "milliseconds" | "modelMilliseconds" | "facts"
>;

/** The work on one prompt, which can take several runs if processes end in between. */
export interface ContinuedWork {
  /** Turn limit of the newest run. */
  readonly maxTurns: number;
  /** What the runs before the current one did. After a run that was lost or parked, includes that run. */
  readonly done: WorkDone | undefined;
}

/** Returns the work after an event. Must be called for every line, including those of runs that have ended. */
export function foldWork(work: ContinuedWork, event: DurableEvent): ContinuedWork {
  if (event.type === "run.started")
    return { maxTurns: event.maxTurns, done: event.continues === undefined ? undefined : work.done };
  if (event.type !== "run.ended") return work;
  return { ...work, done: isUnfinished(event) ? withEarlier(event, work.done) : undefined };
}

/** Adds what earlier runs did to the end of the run that continued them. */
export function withEarlier<End extends WorkDone>(end: End, done: WorkDone | undefined): End {
  if (done === undefined) return end;
  return {
    ...end,
    text: end.text === "" ? done.text : end.text,
    turns: done.turns + end.turns,
    usage: addUsage(done.usage, end.usage),
    costUsd: sumCosts(done.costUsd, end.costUsd),
    milliseconds: done.milliseconds + end.milliseconds,
    modelMilliseconds: done.modelMilliseconds + end.modelMilliseconds,
    facts: addFacts(done.facts, end.facts),
  };
}
