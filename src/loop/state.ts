import type {
  EndReason,
  EventOf,
  PermissionMode,
  PromptId,
  ReachedLimit,
  RunFacts,
  RunId,
  RunRef,
  ToldEnvironment,
  Usage,
  UserBlock,
} from "../protocol/index.ts";
import { noFacts, noUsage } from "../protocol/index.ts";
import type { CallState } from "./call-state.ts";
import { type ContextState, emptyContext } from "./context.ts";
import type { ContinuedWork } from "./continued-work.ts";
import { newCount, type Repetition } from "./repetition.ts";
import type { UnderWay } from "./under-way.ts";
import { nothingUnverified, type Unverified } from "./unverified.ts";

/**
 * Complete state of the loop, computed by folding the journal. To resume a run, the journal is folded again.
 * Checkpoints store this state.
 */
export interface LoopState {
  readonly run: ActiveRun | undefined;
  /** Number of requests made since the agent was created. The number is part of every call id. */
  readonly turn: number;
  /** Whether the newest request has no response yet. */
  readonly unanswered: boolean;
  /** Requests whose cost is reserved until their responses are recorded. */
  readonly underWay: readonly UnderWay[];
  /** Calls of the newest response, in order, until their results are sent. */
  readonly calls: readonly CallState[];
  /** Blocks that follow the tool results in the next user turn. */
  readonly said: readonly UserBlock[];
  /** Record of a compaction that the next user turn contains. */
  readonly record: string | undefined;
  /** Message that must be recorded before the next request. */
  readonly toTell: PendingMessage | undefined;
  /** Recent turns, used to detect loops. */
  readonly repetition: Repetition;
  /** Prompts that the agent has not received yet, oldest first. */
  readonly queue: readonly QueuedPrompt[];
  /** Background runs that have not been reported to this agent as ended. */
  readonly background: readonly RunRef[];
  /** Background runs that the agent waits for before its next request. All of these runs are in `background`. */
  readonly awaited: readonly RunId[];
  /** Whether plan mode was last entered or left. Undefined if plan mode was never used. */
  readonly plan: "entered" | "left" | undefined;
  /** Mode that follows plan mode once a plan is approved, as recorded when plan mode was last entered. */
  readonly afterPlan: PermissionMode | undefined;
  /** Mode that the user last switched to, other than plan mode. Undefined if the user never switched modes. */
  readonly mode: PermissionMode | undefined;
  /** Number of consecutive responses that were cut off at the output limit. */
  readonly cutOff: number;
  /** First and latest prompts, which compaction always keeps. */
  readonly asked: { readonly first: string; readonly latest: string } | undefined;
  /**
   * Environment as the conversation describes it. Undefined if the conversation does not describe it, as after a
   * compaction.
   */
  readonly environment: ToldEnvironment | undefined;
  /**
   * Hash of the head up to which the conversation describes changes. Undefined if it describes no changes to its own
   * head.
   */
  readonly toldHead: string | undefined;
  readonly context: ContextState;
  readonly work: ContinuedWork;
  readonly unverified: Unverified;
}

/** Returns the facts about the run in progress as they would be recorded if it ended now. */
export function factsOf({ run, background }: LoopState): RunFacts {
  const facts = run?.facts ?? noFacts;
  return background.length === 0 ? facts : { ...facts, unreturned: background };
}

/** Counters of the run in progress. */
export interface ActiveRun {
  readonly runId: RunId;
  readonly maxTurns: number;
  /** Number of turns in earlier runs that count towards `maxTurns`. */
  readonly turnsBefore: number;
  /** Whether the run waits for its background agents before it ends. */
  readonly waits: boolean;
  readonly turns: number;
  readonly usage: Usage;
  /** Undefined as soon as the price of one request is unknown. */
  readonly costUsd: number | undefined;
  readonly modelMilliseconds: number;
  readonly facts: RunFacts;
  /** Newest text from the model. */
  readonly text: string;
  readonly ending: Ending | undefined;
}

export interface Ending {
  readonly reason: EndReason;
  readonly message?: string;
  readonly limit?: ReachedLimit | undefined;
  readonly stoppedBy?: "person" | undefined;
}

/** A prompt that is waiting for its turn. */
export interface QueuedPrompt {
  readonly promptId: PromptId;
  readonly content: readonly UserBlock[];
}

/** A message from the runtime to the model. */
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
  record: undefined,
  toTell: undefined,
  repetition: newCount(0),
  queue: [],
  background: [],
  awaited: [],
  plan: undefined,
  afterPlan: undefined,
  mode: undefined,
  cutOff: 0,
  asked: undefined,
  environment: undefined,
  toldHead: undefined,
  context: emptyContext,
  work: { maxTurns: 0, done: undefined, isOver: true },
  unverified: nothingUnverified,
};

/** Returns how many more requests the run may make. */
export function turnsLeft({ maxTurns, turnsBefore, turns }: ActiveRun): number {
  return Math.max(0, maxTurns - turnsBefore - turns);
}

export function newRun({
  runId,
  maxTurns,
  continues,
  waits,
}: Pick<EventOf<"run.started">, "runId" | "maxTurns" | "continues" | "waits">): ActiveRun {
  return {
    runId,
    maxTurns,
    turnsBefore: continues?.turns ?? 0,
    waits: waits ?? false,
    turns: 0,
    usage: noUsage,
    costUsd: 0,
    modelMilliseconds: 0,
    facts: noFacts,
    text: "",
    ending: undefined,
  };
}
