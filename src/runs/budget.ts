import type { Clock, SpendEstimate } from "../ports/index.ts";
import { type AgentBudget, DEFAULT_MAX_SPAWNS, type Usage } from "../protocol/index.ts";
import { type Amounts, amountOf, BudgetAccount, type LimitsOf, unitsOf } from "./budget-account.ts";
import { type BudgetLimit, type BudgetLine, refusalText, SESSION, unpricedText, warningText } from "./budget-text.ts";
import { createPlaces, Place, type Places } from "./places.ts";

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
  /** After a restart: what the journal says was spent by this agent itself. Counts for its ancestors too, except for seconds: those of several agents overlap. */
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

export interface BudgetOptions {
  readonly limits: BudgetLimits;
  /** `subagents.maxSpawns`. */
  readonly maxSpawns?: number | undefined;
  readonly clock: Pick<Clock, "monotonic">;
}

/** The budget of a session: the root of the tree. */
export function createBudget({ limits, maxSpawns = DEFAULT_MAX_SPAWNS, clock }: BudgetOptions): Budget {
  const tree: Tree = { clock, places: createPlaces(), waiting: [] };
  return new Node(tree, { name: SESSION, limits: { ...limits, promptSpawns: maxSpawns } });
}

/** What all budgets of a session share. */
interface Tree {
  readonly clock: Pick<Clock, "monotonic">;
  readonly places: Places;
  /** Those who wait for others' reservations, in order; each says whether it has its answer. */
  waiting: (() => boolean)[];
}

interface NodeOptions {
  readonly name: string;
  readonly limits: LimitsOf;
  readonly parent?: Node;
}

class Node implements Budget {
  private readonly tree: Tree;
  /** This budget's, then those of its ancestors. */
  private readonly accounts: readonly BudgetAccount[];
  private readonly own: BudgetAccount;
  private readonly place: Place;
  readonly needsEstimate: boolean;

  constructor(tree: Tree, { name, limits, parent }: NodeOptions) {
    this.tree = tree;
    this.own = new BudgetAccount(name, limits, tree.clock);
    this.accounts = [this.own, ...(parent?.accounts ?? [])];
    this.needsEstimate = (parent?.needsEstimate ?? false) || limits.tokens !== undefined || limits.usd !== undefined;
    const gates = (parent?.accounts ?? []).flatMap(({ gate }) => gate ?? []);
    this.place = new Place(tree.places, gates);
  }

  reserve(estimate: BudgetEstimate): Reservation | BudgetRefusal {
    const { tokens, usd } = estimate;
    if (!isAmount(tokens)) throw new RangeError(`An estimate of ${tokens} tokens.`);
    if (!isAmount(usd ?? 0)) throw new RangeError(`An estimate of ${usd} dollars.`);
    const wanted = { tokens: Math.ceil(tokens), usd: unitsOf("usd", usd ?? 0), turns: 1 };
    const refusal = this.unpriced(estimate) ?? this.refusal(wanted, estimate);
    if (refusal) return refusal;
    for (const account of this.accounts) account.reserve(wanted);
    return this.reservation(wanted, estimate);
  }

  async reserveInTurn(estimate: BudgetEstimate, signal: AbortSignal): Promise<Reservation | BudgetRefusal> {
    const { tree } = this;
    let answer = this.reserve(estimate);
    if (!isPending(answer) || signal.aborted) return answer;
    return new Promise((resolve) => {
      const retry = (): boolean => {
        answer = this.reserve(estimate);
        if (isPending(answer)) return false;
        signal.removeEventListener("abort", onAbort);
        resolve(answer);
        return true;
      };
      const onAbort = (): void => {
        tree.waiting = tree.waiting.filter((other) => other !== retry);
        resolve(answer);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      tree.waiting.push(retry);
    });
  }

  spawn(): BudgetRefusal | undefined {
    const closed = this.accounts.find(({ limits }) => (limits.concurrent ?? 1) < 1);
    if (closed) return refusalOf(closed, { limit: "concurrent", pending: false });
    const one = { spawns: 1, promptSpawns: 1 };
    const refusal = this.refusal(one);
    if (refusal) return refusal;
    for (const account of this.accounts) account.use(one);
    return undefined;
  }

  unspawn(): void {
    for (const account of this.accounts) account.unspawn();
  }

  resetSpawns(): void {
    for (const account of this.accounts) account.resetSpawns();
  }

  enter(signal: AbortSignal): Promise<() => void> {
    return this.place.enter(signal);
  }

  lend(): (signal: AbortSignal) => Promise<void> {
    return this.place.lend();
  }

  work(): () => void {
    for (const account of this.accounts) account.beginWork();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      for (const account of this.accounts) account.endWork();
    };
  }

  child(limits: BudgetLimits, name: string): Budget {
    return new Node(this.tree, { name, limits, parent: this });
  }

  restore({ tokens = 0, usd = 0, turns = 0, seconds = 0, spawns = 0, unpriced = 0 }: Partial<BudgetSpent>): void {
    const spent = { tokens, usd: unitsOf("usd", usd), turns, spawns };
    for (const account of this.accounts) {
      account.use(spent);
      account.unpriced += unpriced;
    }
    this.own.addSeconds(seconds);
  }

  spent(): BudgetSpent {
    const { used, unpriced } = this.own;
    const { tokens, turns, spawns } = used;
    return { tokens, usd: amountOf("usd", used.usd), turns, seconds: this.own.seconds(), spawns, unpriced };
  }

  left(): BudgetLeft {
    const left: Partial<Record<BudgetLimit, BudgetLine>> = {};
    for (const [limit, line] of this.accounts.flatMap((account) => account.lines())) {
      if (line.left < (left[limit]?.left ?? Number.POSITIVE_INFINITY)) left[limit] = line;
    }
    return left;
  }

  warning(): string | undefined {
    const who = { starts: this.own.used.spawns > 0 };
    const texts = this.accounts.flatMap((account) => account.takeWarnings(who).map((each) => warningText(...each)));
    return texts.length > 0 ? texts.join(" ") : undefined;
  }

  private unpriced({ usd, model }: BudgetEstimate): BudgetRefusal | undefined {
    const account = usd === undefined ? this.accounts.find(({ limits }) => limits.usd !== undefined) : undefined;
    if (!account) return undefined;
    const message = unpricedText(account.line("usd"), model);
    return { refused: true, limit: "usd", of: account.name, pending: false, message };
  }

  /** What stands in the way for good comes before what others may give back. */
  private refusal(wanted: Amounts, estimate?: BudgetEstimate): BudgetRefusal | undefined {
    const over = this.accounts.flatMap((account) => account.exceeded(wanted).map((each) => ({ account, ...each })));
    const first = over.find(({ pending }) => !pending) ?? over[0];
    return first && refusalOf(first.account, estimate ? { ...first, wanted, isCall: estimate.isCall } : first);
  }

  private reservation(wanted: RequestAmounts, estimate: BudgetEstimate): Reservation {
    let isOpen = true;
    const close = (actual?: Amounts): void => {
      isOpen = false;
      for (const account of this.accounts) {
        account.release(wanted);
        if (actual) account.use(actual);
      }
      this.tree.waiting = this.tree.waiting.filter((retry) => !retry());
    };
    return {
      settle: ({ usage, costUsd }) => {
        if (!isOpen) return;
        if (costUsd === undefined && estimate.usd === undefined) for (const each of this.accounts) each.unpriced += 1;
        // Numbers that are missing or make no sense are taken for what was reserved, never for nothing.
        const tokens = tokensOf(usage);
        const usd = unitsOf("usd", costUsd ?? Number.NaN);
        close({
          tokens: isAmount(tokens) ? tokens : wanted.tokens,
          usd: isAmount(usd) ? usd : wanted.usd,
          turns: 1,
        });
      },
      cancel: () => {
        if (isOpen) close();
      },
    };
  }
}

type RequestAmounts = Readonly<Record<"tokens" | "usd" | "turns", number>>;

interface Reason {
  readonly limit: BudgetLimit;
  readonly pending: boolean;
  readonly wanted?: Amounts;
  readonly isCall?: true | undefined;
}

function refusalOf(account: BudgetAccount, { limit, pending, wanted, isCall }: Reason): BudgetRefusal {
  const units = limit === "tokens" || limit === "usd" ? wanted?.[limit] : undefined;
  const needed = units && amountOf(limit, units);
  const message = refusalText(limit, account.line(limit), { needed, isCall });
  return { refused: true, limit, of: account.name, pending, message };
}

function isPending(answer: Reservation | BudgetRefusal): boolean {
  return answer.refused === true && answer.pending;
}

export function tokensOf({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens }: Usage): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens;
}

function isAmount(amount: number): boolean {
  return Number.isFinite(amount) && amount >= 0;
}
