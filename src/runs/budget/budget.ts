import type { SpendEstimate } from "../../ports/index.ts";
import type { AgentBudget, Usage } from "../../protocol/index.ts";
import type { BudgetLimit, BudgetLine } from "./budget-text.ts";

export type BudgetLimits = AgentBudget;

/** Budget of one agent with all its subagents. It is a part of every ancestor's budget. */
export interface Budget {
  /**
   * Sets aside the most that a request can cost, before it is sent. While others hold reservations, a request that
   * does not fit is refused as `pending`; when it is alone, its answer is made shorter instead.
   */
  reserve(estimate: BudgetEstimate): Reservation | BudgetRefusal;
  /** Like `reserve`, but waits while the refusal is `pending`. If aborted while waiting, returns that refusal. */
  reserveInTurn(estimate: BudgetEstimate, signal: AbortSignal): Promise<Reservation | BudgetRefusal>;
  /** Called on the parent's budget before it starts an agent, which counts at once. */
  spawn(): BudgetRefusal | undefined;
  /** Takes back a `spawn` whose agent never ran. */
  unspawn(): void;
  /** Starts a new count for `subagents.maxSpawns`. Called for each prompt of the user, and when the user allows more agents. */
  resetSpawns(): void;
  /**
   * Waits for a slot among the running agents of every ancestor with a limit `concurrent`. The main agent needs none.
   * Returns a function that releases the slot. If aborted while waiting, there is no slot; the caller checks the signal.
   */
  enter(signal: AbortSignal): Promise<() => void>;
  /**
   * Lends the slot while an agent waits for its own agents. The returned function takes it back, before all newcomers.
   * Without this, agents that wait for agents could occupy every slot forever.
   */
  lend(): (signal: AbortSignal) => Promise<void>;
  /**
   * Counts time until the returned function is called, once for however many agents of the tree work. Calls `onOver`
   * at most once, when a limit of seconds is reached while this agent works.
   */
  work(onOver: (refusal: BudgetRefusal) => void): () => void;
  child(limits: BudgetLimits, name: string): Budget;
  /** Adds what this agent with all its subagents spent in earlier processes. Ancestors are restored separately. */
  restore(spent: Partial<BudgetSpent>): void;
  /** Returns what this agent with all its subagents has spent. */
  spent(): BudgetSpent;
  /** Returns, for each limit that applies here, the one with least left, be it of this budget or of an ancestor's. */
  left(): BudgetLeft;
  /** Returns a warning once for each limit, of this budget or an ancestor's, of which 80 % are used. */
  warning(): string | undefined;
}

export interface BudgetEstimate extends SpendEstimate {
  /** The part of `tokens` and `usd` that is the answer, which can be made shorter. Absent: all of it is needed. */
  readonly answer?: AnswerEstimate;
  /** The request is a tool call that uses a model itself. An agent can continue without it. */
  readonly isCall?: true;
}

export interface AnswerEstimate {
  readonly tokens: number;
  /** Shortest answer that is worth a request. */
  readonly least: number;
  readonly usdPerToken: number;
}

/** Only the first call of `settle` or `cancel` has an effect, so `cancel` may be called in a `finally`. */
export interface Reservation {
  readonly refused?: never;
  /** Length of the reserved answer. */
  readonly answerTokens: number;
  /**
   * Called before a request is sent again whose answer broke off: charges what that attempt cost and sets aside the
   * next one, waiting for others like `reserveInTurn`. Resolves with the longest answer of the next attempt.
   */
  repeat(lost: Spent, signal: AbortSignal): Promise<number | BudgetRefusal>;
  /** Replaces the reservation by the actual cost of all attempts, even if that is more. */
  settle(actual: Spent): void;
  cancel(): void;
}

export interface Spent {
  readonly usage: Usage;
  /** Absent if the model has no known price. */
  readonly costUsd?: number | undefined;
}

export interface BudgetRefusal {
  readonly refused: true;
  readonly limit: BudgetLimit;
  /** Owner of the limit: `session`, or the name of an agent. */
  readonly owner: string;
  /** There may be room once the requests under way have ended. */
  readonly pending: boolean;
  readonly message: string;
}

export interface BudgetSpent {
  readonly tokens: number;
  readonly usd: number;
  readonly turns: number;
  readonly seconds: number;
  readonly spawns: number;
  /** Number of requests without a known cost; `usd` does not include them. */
  readonly unpriced: number;
  /** The part of `tokens` and `usd` that was charged for requests whose answers were lost; absent: none. */
  readonly estimated?: { readonly tokens: number; readonly usd: number } | undefined;
}

export type BudgetLeft = Partial<Readonly<Record<BudgetLimit, BudgetLine>>>;
