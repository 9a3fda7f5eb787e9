import type { SpendEstimate } from "../../ports/index.ts";
import type { AgentBudget, Usage } from "../../protocol/index.ts";
import type { BudgetLimit, BudgetLine, LimitText, RefusedLimit } from "./budget-text.ts";

export type BudgetLimits = AgentBudget;

/** Budget of one agent and all its subagents. It is part of the budget of every ancestor. */
export interface Budget {
  /**
   * Reserves the most that a request can cost, before the request is sent. While other requests hold reservations, a
   * request that does not fit is refused as `pending`. If there are no other reservations, the request gets a shorter
   * response instead.
   */
  reserve(estimate: BudgetEstimate): Reservation | BudgetRefusal;
  /**
   * Like `reserve`, but waits while the refusal is `pending`, after a call of `onWait`. Returns the pending refusal if
   * aborted while waiting.
   */
  reserveInTurn(
    estimate: BudgetEstimate,
    signal: AbortSignal,
    onWait?: () => void,
  ): Promise<Reservation | BudgetRefusal>;
  /** Called on the parent's budget before an agent is started. The agent is counted immediately. */
  spawn(): BudgetRefusal | undefined;
  /** Reverts a `spawn` whose agent never ran. */
  unspawn(): void;
  /** Resets the count for `subagents.maxSpawns`. Called for each user prompt, and when the user allows more agents. */
  resetSpawns(): void;
  /**
   * Waits for a slot in every ancestor that has a `concurrent` limit. The main agent needs no slot. Returns a function
   * that releases the slot. If aborted while waiting, no slot is taken; the caller must check the signal.
   */
  enter(signal: AbortSignal): Promise<() => void>;
  /**
   * Lends the agent's slot to others while the agent waits for its own subagents. The returned function takes the slot
   * back, ahead of all other requests. Without lending, waiting agents could occupy every slot forever.
   */
  lend(): (signal: AbortSignal) => Promise<void>;
  /**
   * Counts time until the returned function is called. Time during which several agents of the tree work is counted
   * once. Calls `onOver` at most once, when a `seconds` limit is reached while this agent works.
   */
  work(onOver: (refusal: BudgetRefusal) => void): () => void;
  child(limits: BudgetLimits, name: string): Budget;
  /** Adds what this agent and all its subagents spent in earlier processes. Ancestors are restored separately. */
  restore(spent: Partial<BudgetSpent>): void;
  /** Returns what this agent and all its subagents have spent. */
  spent(): BudgetSpent;
  /** Returns, for each kind of limit, the limit with the least left among this budget and its ancestors' budgets. */
  left(): BudgetLeft;
  /** Returns a warning when 80% of a limit in this budget or an ancestor's budget is used, once for each limit. */
  warning(): LimitText | undefined;
}

export interface BudgetEstimate extends SpendEstimate {
  /**
   * The part of `tokens` and `usd` that is for the response, which can be shortened. If absent, the whole estimate is
   * needed.
   */
  readonly answer?: AnswerEstimate;
  /** Set if the request is a tool call that uses a model itself. The agent can continue without such a call. */
  readonly isCall?: true;
}

export interface AnswerEstimate {
  readonly tokens: number;
  /** Length in tokens of the shortest response that is worth a request. */
  readonly least: number;
  readonly usdPerToken: number;
}

/**
 * Amounts reserved for one request. Only the first call to `settle` or `cancel` has an effect, so `cancel` can be
 * called in a `finally` block.
 */
export interface Reservation {
  readonly refused?: never;
  /** Length of the reserved response in tokens. */
  readonly answerTokens: number;
  /**
   * Called before a request whose response was interrupted is sent again. Charges the cost of the failed attempt and
   * reserves the next one, waiting for other requests like `reserveInTurn`. Resolves with the maximum response length
   * for the next attempt.
   */
  repeat(lost: Spent, signal: AbortSignal): Promise<number | BudgetRefusal>;
  /** Replaces the reservation with the actual cost of all attempts, even if that is higher. */
  settle(actual: Spent): void;
  cancel(): void;
}

export interface Spent {
  readonly usage: Usage;
  /** Absent if the model has no known price. */
  readonly costUsd?: number | undefined;
}

export interface BudgetRefusal extends RefusedLimit {
  readonly refused: true;
  /** Whether there may be room once the requests in progress have finished. */
  readonly pending: boolean;
}

export interface BudgetSpent {
  readonly tokens: number;
  readonly usd: number;
  readonly turns: number;
  readonly seconds: number;
  readonly spawns: number;
  /** Number of requests whose cost is unknown. `usd` does not include them. */
  readonly unpriced: number;
  /**
   * The part of `tokens` and `usd` that was charged for requests whose responses were lost. Absent if there is none.
   */
  readonly estimated?: { readonly tokens: number; readonly usd: number } | undefined;
}

export type BudgetLeft = Partial<Readonly<Record<BudgetLimit, BudgetLine>>>;
