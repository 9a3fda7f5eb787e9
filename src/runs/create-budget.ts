import type { Clock } from "../ports/index.ts";
import { DEFAULT_MAX_SPAWNS } from "../protocol/index.ts";
import type {
  Budget,
  BudgetEstimate,
  BudgetLeft,
  BudgetLimits,
  BudgetRefusal,
  BudgetSpent,
  Reservation,
} from "./budget.ts";
import { type Amounts, amountOf, BudgetAccount, type LimitsOf, tokensOf, unitsOf } from "./budget-account.ts";
import { type BudgetLimit, type BudgetLine, refusalText, SESSION, unpricedText, warningText } from "./budget-text.ts";
import { createPlaces, Place, type Places } from "./places.ts";

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
    this.own.use({ tokens, usd: unitsOf("usd", usd), turns, spawns });
    this.own.unpriced += unpriced;
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

function isAmount(amount: number): boolean {
  return Number.isFinite(amount) && amount >= 0;
}
