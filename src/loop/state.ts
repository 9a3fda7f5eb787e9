import type { EndReason, RunFacts, RunId, RunRef, ToldEnvironment, Usage, UserBlock } from "../protocol/index.ts";
import { noFacts, noUsage } from "../protocol/index.ts";
import type { CallState } from "./call-state.ts";
import { type ContextState, emptyContext } from "./context.ts";
import { newCount, type Repetition } from "./repetition.ts";
import type { UnderWay } from "./under-way.ts";

/** Everything the loop knows. It is a fold of the journal, so resuming is folding. Checkpoints store it. */
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
  /** Blocks that follow the results in the next user turn. */
  readonly said: readonly UserBlock[];
  /** Message that has to be recorded before the next request. */
  readonly toTell: PendingMessage | undefined;
  /** Recent turns, to recognise a loop. */
  readonly repetition: Repetition;
  /** Background runs whose end was not reported to this agent yet. */
  readonly background: readonly RunRef[];
  /** Last change of plan mode; undefined if there was none. */
  readonly plan: "entered" | "left" | undefined;
  /** Number of consecutive answers that were cut at the output limit. */
  readonly cutOff: number;
  /** First and latest prompt. Compaction never loses them. */
  readonly asked: { readonly first: string; readonly latest: string } | undefined;
  /** What the conversation says about the environment; undefined if it doesn't, as after a compaction. */
  readonly environment: ToldEnvironment | undefined;
  readonly context: ContextState;
}

/** Returns the facts of the run under way as they would be recorded if it ended now. */
export function factsOf({ run, background }: LoopState): RunFacts {
  const facts = run?.facts ?? noFacts;
  return background.length === 0 ? facts : { ...facts, unreturned: background };
}

/** Counters of the run under way. */
export interface ActiveRun {
  readonly runId: RunId;
  readonly maxTurns: number;
  /** The run does not end before its background agents. */
  readonly waits: boolean;
  readonly turns: number;
  readonly usage: Usage;
  /** Undefined once a request had no known price. */
  readonly costUsd: number | undefined;
  readonly modelMilliseconds: number;
  readonly facts: RunFacts;
  /** Newest text of the model. */
  readonly text: string;
  readonly ending: Ending | undefined;
}

export interface Ending {
  readonly reason: EndReason;
  readonly message?: string;
}

/** A message of the runtime to the model. */
export interface PendingMessage {
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
  environment: undefined,
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
