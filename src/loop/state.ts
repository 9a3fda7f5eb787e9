import type { EndReason, Notice, RunFacts, RunId, Usage, UserBlock } from "../protocol/index.ts";
import { noFacts, noUsage } from "../protocol/index.ts";
import type { CallState } from "./call-state.ts";
import { type ContextState, emptyContext } from "./context.ts";
import { newCount, type Repetition } from "./repetition.ts";
import type { UnderWay } from "./under-way.ts";

/** Everything the loop knows: a fold of the journal, so that resuming is folding. */
export interface LoopState {
  readonly run: ActiveRun | undefined;
  /** Requests made in the whole life of the agent; part of every call's id. */
  readonly turn: number;
  /** The newest request has no answer yet. */
  readonly unanswered: boolean;
  /** Requests whose cost is set aside until their answers are recorded. */
  readonly underWay: readonly UnderWay[];
  /** Calls of the newest answer, in its order, until their results are sent. */
  readonly calls: readonly CallState[];
  /** What stands behind the results in the next user turn. */
  readonly said: readonly UserBlock[];
  /** Something has to be told to the model before it is asked again. */
  readonly toTell: Telling | undefined;
  /** Recent turns, to recognise a loop. */
  readonly repetition: Repetition;
  /** Runs in the background whose end was not told yet. */
  readonly background: readonly Notice[];
  /** Whether it is in plan mode; undefined while nothing was said about it. */
  readonly plan: "entered" | "left" | undefined;
  /** Answers cut at the output limit, one after the other. */
  readonly cutOff: number;
  /** What was asked first and last, in words: compaction never loses them. */
  readonly asked: { readonly first: string; readonly latest: string } | undefined;
  /** How full the model's window is. */
  readonly context: ContextState;
}

/** Of the run under way, if it ended now. */
export function factsOf({ run, background }: LoopState): RunFacts {
  const facts = run?.facts ?? noFacts;
  return background.length === 0 ? facts : { ...facts, unreturned: background };
}

/** Counters of one run; gone with its `run.ended`. */
export interface ActiveRun {
  readonly runId: RunId;
  readonly maxTurns: number;
  /** It does not end before its background agents. */
  readonly waits: boolean;
  readonly turns: number;
  readonly usage: Usage;
  /** Undefined once a request had no known price. */
  readonly costUsd: number | undefined;
  readonly modelMilliseconds: number;
  readonly facts: RunFacts;
  /** The newest words of the model. */
  readonly text: string;
  readonly ending: Ending | undefined;
}

export interface Ending {
  readonly reason: EndReason;
  readonly message?: string;
}

export interface Telling {
  readonly cause: "loop" | "cut_off" | "budget";
  readonly text: string;
}

export const initialState: LoopState = {
  run: undefined,
  turn: 0,
  unanswered: false,
  underWay: [],
  calls: [],
  said: [],
  toTell: undefined,
  repetition: newCount(0),
  background: [],
  plan: undefined,
  cutOff: 0,
  asked: undefined,
  context: emptyContext,
};

export function newRun({
  runId,
  maxTurns,
  waits = false,
}: Pick<ActiveRun, "runId" | "maxTurns"> & { waits?: boolean | undefined }): ActiveRun {
  return {
    runId,
    maxTurns,
    waits,
    turns: 0,
    usage: noUsage,
    costUsd: 0,
    modelMilliseconds: 0,
    facts: noFacts,
    text: "",
    ending: undefined,
  };
}
