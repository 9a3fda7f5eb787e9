import { addFacts, addUsage, type DurableEvent, isUnfinished, type RunEnd } from "../protocol/index.ts";
import { withCallFacts } from "./run-facts.ts";
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
  /** Whether no run is in progress. */
  readonly isOver: boolean;
}

/** Returns the work after an event. Must be called for every line, including those of runs that have ended. */
export function foldWork(work: ContinuedWork, event: DurableEvent): ContinuedWork {
  const { done, isOver } = work;
  switch (event.type) {
    case "run.started":
      return { maxTurns: event.maxTurns, done: event.continues === undefined ? undefined : done, isOver: false };
    case "run.ended":
      return { ...work, done: isUnfinished(event) ? withEarlier(event, done) : undefined, isOver: true };
    case "tool.ended": {
      // A parked run leaves calls open. Their outcomes are recorded before the next run begins.
      if (!isOver || done === undefined) return work;
      const { callId, name, result } = event;
      const facts = withCallFacts(done.facts, { callId, name, inputJson: "{}" }, result);
      return { ...work, done: { ...done, facts } };
    }
    default:
      return work;
  }
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
