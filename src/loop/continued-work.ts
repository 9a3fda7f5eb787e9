import { addFacts, addUsage, type DurableEvent, isUnfinished, type RunEnd, type RunFacts } from "../protocol/index.ts";
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
  /** Facts about work on earlier prompts that was lost with its process, so that no result has reported them. */
  readonly unreported?: RunFacts | undefined;
  /** Whether the last run was lost with its process. */
  readonly isLost?: boolean | undefined;
  /** Whether no run is in progress. */
  readonly isOver: boolean;
}

/** Returns the work after an event. Must be called for every line, including those of runs that have ended. */
export function foldWork(work: ContinuedWork, event: DurableEvent): ContinuedWork {
  const { done, isOver, isLost, unreported } = work;
  switch (event.type) {
    case "run.started": {
      const { maxTurns, continues } = event;
      if (continues !== undefined) return { maxTurns, done, unreported, isOver: false };
      return { maxTurns, done: undefined, unreported: isLost ? factsBefore(work) : unreported, isOver: false };
    }
    case "run.ended": {
      const isLost = event.reason === "process_lost";
      const ended = { ...work, isOver: true, isLost, unreported: isLost ? unreported : undefined };
      return { ...ended, done: isUnfinished(event) ? withEarlier(event, done) : undefined };
    }
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

/** Returns the facts that the result of the current run must include, because no result has reported them. */
export function factsBefore({ done, unreported }: ContinuedWork): RunFacts | undefined {
  return done && unreported ? addFacts(unreported, done.facts) : (done?.facts ?? unreported);
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
