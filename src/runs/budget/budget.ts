import type { SpendEstimate } from "../../ports/index.ts";
import type { AgentBudget, Usage } from "../../protocol/index.ts";
import type { BudgetLimit, BudgetLine } from "./budget-text.ts";

export type BudgetLimits = AgentBudget;

/** What one agent and all its agents may spend, and have spent. A part of every ancestor's budget. */
export interface Budget {
  /**
   * Sets aside the most that a request can cost, before it is sent. While others hold reservations, a request that
   * does not fit is refused as `pending`; when it is alone, its answer is made shorter instead.
   */
  reserve(estimate: BudgetEstimate): Reservation | BudgetRefusal;
  /** Like `reserve`, but waits while the refusal is `pending`. If aborted while waiting, returns that refusal. */
  reserveInTurn(estimate: BudgetEstimate, signal: AbortSignal): Promise<Reservation | BudgetRefusal>;
  /** Of the one who wants to start an agent, before it does; it counts at once. */
  spawn(): BudgetRefusal | undefined;
  /** Of one that came to nothing before it ran: it is as if it had not been counted. */
  unspawn(): void;
  /** Each prompt of a person, or a person's yes to more agents, begins a new count for `subagents.maxSpawns`. */
  resetSpawns(): void;
  /**
   * Of the agent that is started: waits for a place among the running agents of every ancestor with a limit
   * `concurrent`; the main agent needs none. The result gives it back. Aborted while waiting: there is no place, and
   * whoever waited looks at the signal.
   */
  enter(signal: AbortSignal): Promise<() => void>;
  /** While an agent waits for its own agents they may have its place; the result takes it back, before all newcomers. Without it, agents that wait for agents could fill every place for ever. */
  lend(): (signal: AbortSignal) => Promise<void>;
  /**
   * Counts time until the returned function is called, once for however many agents of the tree work. Calls `onOver`
   * at most once, when a limit of seconds is reached while this agent works.
   */
  work(onOver: (refusal: BudgetRefusal) => void): () => void;
  child(limits: BudgetLimits, name: string): Budget;
  /** What the journal says was spent here before, with all its agents. Its ancestors have been told of that, or will be, by themselves. */
  restore(spent: Partial<BudgetSpent>): void;
  /** Of this agent with all its agents. */
  spent(): BudgetSpent;
  /** For each limit that applies here, the budget that has least left of it, be it this one or an ancestor's. */
  left(): BudgetLeft;
  /** Once for each limit, here or of an ancestor, of which 80 % are used; of agents only where it starts any. */
  warning(): string | undefined;
}

export interface BudgetEstimate extends SpendEstimate {
  /** The part of `tokens` and `usd` that is the answer, which can be made shorter. Absent: all of it is needed. */
  readonly answer?: AnswerEstimate;
  /** For a tool call that asks a model itself: an agent that is refused it can continue without. */
  readonly isCall?: true;
}

export interface AnswerEstimate {
  readonly tokens: number;
  /** The shortest answer that is worth a request. */
  readonly least: number;
  readonly usdPerToken: number;
}

/** Only the first call of `settle` or `cancel` has an effect, so `cancel` may be called in a `finally`. */
export interface Reservation {
  readonly refused?: never;
  /** The longest answer that was set aside. */
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
  /** Absent: nobody knows the price. */
  readonly costUsd?: number | undefined;
}

export interface BudgetRefusal {
  readonly refused: true;
  readonly limit: BudgetLimit;
  /** Whose limit: `session`, or the name of an agent. */
  readonly of: string;
  /** True: there may be enough once the requests under way have ended. */
  readonly pending: boolean;
  readonly message: string;
}

export interface BudgetSpent {
  readonly tokens: number;
  readonly usd: number;
  readonly turns: number;
  readonly seconds: number;
  readonly spawns: number;
  /** Requests whose cost nobody knows: `usd` is without them. */
  readonly unpriced: number;
  /** The part of `tokens` and `usd` that was charged for requests whose answers were lost; absent: none. */
  readonly estimated?: { readonly tokens: number; readonly usd: number };
}

export type BudgetLeft = Partial<Readonly<Record<BudgetLimit, BudgetLine>>>;
