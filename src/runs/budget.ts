import type { SpendEstimate } from "../ports/index.ts";
import type { AgentBudget, Usage } from "../protocol/index.ts";
import type { BudgetLimit, BudgetLine } from "./budget-text.ts";

export type BudgetLimits = AgentBudget;

/** What one agent and all its agents may spend, and have spent. A part of every ancestor's budget. */
export interface Budget {
  /** Whether anybody set a limit, here or above, that an estimate is measured by. */
  readonly needsEstimate: boolean;
  /** Before a model request, with what it will take at most. What is reserved counts as used until it is settled. */
  reserve(estimate: BudgetEstimate): Reservation | BudgetRefusal;
  /**
   * As `reserve`, but where only the reservations of others stand in the way, waits for them to be settled.
   * Aborted while waiting: the refusal as it stands.
   */
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
  /** From here to the call of the result time counts, once for however many agents of the tree work. Not for waiting for a person. */
  work(): () => void;
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
  /** For a call that asks a model by itself: who is refused it can go on without. */
  readonly isCall?: true;
}

/** Whichever is called first counts, so `cancel` may stand in a `finally`. */
export interface Reservation {
  readonly refused?: never;
  /** What it really took, even if that is more than was reserved: then the next one is refused. */
  settle(actual: Spent): void;
  cancel(): void;
}

export interface Spent {
  readonly usage: Usage;
  /** Absent: nobody knows the price. */
  readonly costUsd?: number;
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
}

export type BudgetLeft = Partial<Readonly<Record<BudgetLimit, BudgetLine>>>;
