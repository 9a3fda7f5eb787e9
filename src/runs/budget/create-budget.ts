import type { Clock } from "../../ports/index.ts";
import { DEFAULT_MAX_SPAWNS } from "../../protocol/index.ts";
import type {
  Budget,
  BudgetEstimate,
  BudgetLeft,
  BudgetLimits,
  BudgetRefusal,
  BudgetSpent,
  Reservation,
  Spent,
} from "./budget.ts";
import {
  type AccountLimits,
  type Amounts,
  amountOf,
  BudgetAccount,
  tokensOf,
  unitsOf,
  type Work,
} from "./budget-account.ts";
import {
  type BudgetLimit,
  type BudgetLine,
  type LimitText,
  refusalText,
  SESSION,
  unpricedText,
  warningText,
} from "./budget-text.ts";
import { createSlotPool, Slot, type SlotPool } from "./slots.ts";

export interface BudgetOptions {
  readonly limits: BudgetLimits;
  /** The `subagents.maxSpawns` setting. */
  readonly maxSpawns?: number | undefined;
  readonly clock: Pick<Clock, "monotonic">;
}

/** Creates a session's budget, which is the root of the budget tree. */
export function createBudget({ limits, maxSpawns = DEFAULT_MAX_SPAWNS, clock }: BudgetOptions): Budget {
  const tree: Tree = { clock, slots: createSlotPool(), waiting: [] };
  return new BudgetNode(tree, { name: SESSION, limits: { ...limits, promptSpawns: maxSpawns } });
}

/** State that all budgets of a session share. */
interface Tree {
  readonly clock: Pick<Clock, "monotonic">;
  readonly slots: SlotPool;
  /**
   * Retry functions of requests that are waiting for other reservations to settle, in order. Each returns whether its
   * request is done.
   */
  waiting: (() => boolean)[];
}

interface NodeOptions {
  readonly name: string;
  readonly limits: AccountLimits;
  readonly parent?: BudgetNode;
}

class BudgetNode implements Budget {
  private readonly tree: Tree;
  /** This budget's account, followed by those of its ancestors. */
  private readonly accounts: readonly BudgetAccount[];
  private readonly own: BudgetAccount;
  private readonly slot: Slot;

  constructor(tree: Tree, { name, limits, parent }: NodeOptions) {
    this.tree = tree;
    this.own = new BudgetAccount(name, limits, tree.clock);
    this.accounts = [this.own, ...(parent?.accounts ?? [])];
    const slotLimits = (parent?.accounts ?? []).flatMap(({ slots }) => slots ?? []);
    this.slot = new Slot(tree.slots, slotLimits);
  }

  reserve(estimate: BudgetEstimate): Reservation | BudgetRefusal {
    const { tokens, usd } = estimate;
    if (!isAmount(tokens)) throw new RangeError(`The estimated number of tokens must be at least 0, not ${tokens}.`);
    if (!isAmount(usd ?? 0)) throw new RangeError(`The estimated cost must be at least 0, not ${usd}.`);
    const unpriced = this.unpriced(estimate);
    if (unpriced) return unpriced;
    const answerTokens = this.answerLength(estimate);
    return typeof answerTokens === "number" ? this.reservation(estimate, answerTokens) : answerTokens;
  }

  /**
   * Returns the longest response that the budgets allow now, in tokens, or a refusal if there is no room for any
   * response.
   */
  private answerLength(estimate: BudgetEstimate): number | BudgetRefusal {
    const { answer } = estimate;
    const longest = answer?.tokens ?? 0;
    const least = amountsOf(estimate, answer?.least ?? 0);
    const refusal = this.refusal({ wanted: amountsOf(estimate, longest), least, isCall: estimate.isCall });
    if (refusal) return refusal;
    if (answer === undefined) return 0;
    const fixed = amountsOf(estimate, 0);
    return Math.min(longest, ...this.accounts.map((account) => account.roomForAnswer(fixed, answer.usdPerToken)));
  }

  reserveInTurn(
    estimate: BudgetEstimate,
    signal: AbortSignal,
    onWait?: () => void,
  ): Promise<Reservation | BudgetRefusal> {
    return this.inTurn(() => this.reserve(estimate), signal, onWait);
  }

  /** Repeats the attempt whenever other requests settle, as long as it is refused as pending. */
  private async inTurn<T>(
    attempt: () => T | BudgetRefusal,
    signal: AbortSignal,
    onWait?: () => void,
  ): Promise<T | BudgetRefusal> {
    const { tree } = this;
    let answer = attempt();
    if (!isPending(answer) || signal.aborted) return answer;
    onWait?.();
    return new Promise((resolve) => {
      const retry = (): boolean => {
        answer = attempt();
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
    if (closed) return refusalOf(closed, { limit: "concurrent" });
    const one = { spawns: 1, promptSpawns: 1 };
    const refusal = this.refusal({ wanted: one });
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
    return this.slot.enter(signal);
  }

  lend(): (signal: AbortSignal) => Promise<void> {
    return this.slot.lend();
  }

  work(onOver: (refusal: BudgetRefusal) => void): () => void {
    let isReported = false;
    const work: Work = {
      onOver: (account) => {
        if (isReported) return;
        isReported = true;
        onOver(refusalOf(account, { limit: "seconds" }));
      },
    };
    for (const account of this.accounts) account.beginWork(work);
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      isReported = true;
      for (const account of this.accounts) account.endWork(work);
    };
  }

  child(limits: BudgetLimits, name: string): Budget {
    return new BudgetNode(this.tree, { name, limits, parent: this });
  }

  restore({ tokens = 0, usd = 0, turns = 0, seconds = 0, spawns = 0, ...rest }: Partial<BudgetSpent>): void {
    const { unpriced = 0, estimated = { tokens: 0, usd: 0 } } = rest;
    this.own.use({ tokens, usd: unitsOf("usd", usd), turns, spawns });
    this.own.estimated.tokens += estimated.tokens;
    this.own.estimated.usd += unitsOf("usd", estimated.usd);
    this.own.unpriced += unpriced;
    this.own.addSeconds(seconds);
  }

  spent(): BudgetSpent {
    const { used, unpriced } = this.own;
    const { tokens, turns, spawns } = used;
    const lost = this.own.estimated;
    const estimated = lost.tokens === 0 ? undefined : { tokens: lost.tokens, usd: amountOf("usd", lost.usd) };
    return { tokens, usd: amountOf("usd", used.usd), turns, seconds: this.own.seconds(), spawns, unpriced, estimated };
  }

  left(): BudgetLeft {
    const left: Partial<Record<BudgetLimit, BudgetLine>> = {};
    for (const [limit, line] of this.accounts.flatMap((account) => account.lines())) {
      if (line.left < (left[limit]?.left ?? Number.POSITIVE_INFINITY)) left[limit] = line;
    }
    return left;
  }

  warning(): LimitText | undefined {
    const startsAgents = this.own.used.spawns > 0;
    const texts = this.accounts.flatMap((account) =>
      account.takeWarnings({ startsAgents }).map((each) => warningText(...each)),
    );
    if (texts.length === 0) return undefined;
    const all = (part: keyof LimitText): string => texts.map((text) => text[part]).join(" ");
    return { cause: all("cause"), message: all("message") };
  }

  private unpriced({ usd, ...of }: BudgetEstimate): BudgetRefusal | undefined {
    const account = usd === undefined ? this.accounts.find(({ limits }) => limits.usd !== undefined) : undefined;
    if (!account) return undefined;
    const text = unpricedText(account.line("usd"), of);
    return { refused: true, limit: "usd", owner: account.name, pending: false, unpriced: true, ...text };
  }

  /** Returns a refusal if a limit is exceeded. Limits for which waiting does not help are reported first. */
  private refusal({ wanted, least = wanted, isCall }: Wanted): BudgetRefusal | undefined {
    const over = this.accounts.flatMap((account) =>
      account.exceeded(wanted, least).map(({ limit, remedy }) => ({ account, limit, remedy })),
    );
    const first = over.find(({ remedy }) => remedy === "refuse") ?? over.find(({ remedy }) => remedy === "wait");
    if (first === undefined) return undefined;
    const { account, limit, remedy } = first;
    return refusalOf(account, { limit, pending: remedy === "wait", needed: least, isCall });
  }

  private reservation(estimate: BudgetEstimate, answerTokens: number): Reservation {
    let held: Amounts | undefined;
    let charged: RequestAmounts = { tokens: 0, usd: 0 };
    const hold = (tokens: number): void => {
      held = amountsOf(estimate, tokens);
      for (const account of this.accounts) account.reserve(held);
    };
    const release = (): void => {
      for (const account of this.accounts) if (held) account.release(held);
      held = undefined;
    };
    /** Charges the difference between the total and what was charged before. */
    const charge = (total: RequestAmounts): void => {
      const more = { tokens: total.tokens - charged.tokens, usd: total.usd - charged.usd };
      for (const account of this.accounts) account.use(more);
      charged = total;
    };
    const close = (): void => {
      release();
      this.tree.waiting = this.tree.waiting.filter((retry) => !retry());
    };
    let isOpen = true;
    const attempt = (): number | BudgetRefusal => {
      const next = isOpen ? this.answerLength(estimate) : 0;
      if (typeof next === "number" && isOpen) hold(next);
      return next;
    };
    hold(answerTokens);
    return {
      answerTokens,
      repeat: (lost, signal) => {
        const { tokens, usd } = spentAmounts(lost, held ?? {});
        charge({ tokens: charged.tokens + tokens, usd: charged.usd + usd });
        close();
        return this.inTurn(attempt, signal);
      },
      settle: (actual) => {
        if (!isOpen) return;
        isOpen = false;
        const { costUsd } = actual;
        if (costUsd === undefined && estimate.usd === undefined) for (const each of this.accounts) each.unpriced += 1;
        charge(spentAmounts(actual, held ?? {}));
        for (const account of this.accounts) account.use({ turns: 1 });
        close();
      },
      cancel: () => {
        if (!isOpen) return;
        isOpen = false;
        close();
      },
    };
  }
}

type RequestAmounts = Readonly<Record<"tokens" | "usd", number>>;

/**
 * Returns the amounts that were spent. Missing or invalid numbers are replaced by the reserved amounts, never by zero.
 */
function spentAmounts({ usage, costUsd }: Spent, reserved: Amounts): RequestAmounts {
  const tokens = tokensOf(usage);
  const usd = unitsOf("usd", costUsd ?? Number.NaN);
  return {
    tokens: isAmount(tokens) ? tokens : (reserved.tokens ?? 0),
    usd: isAmount(usd) ? usd : (reserved.usd ?? 0),
  };
}

/** Returns the amounts for a request whose response has at most `answerTokens` tokens. */
function amountsOf({ tokens, usd = 0, answer }: BudgetEstimate, answerTokens: number): Amounts & RequestAmounts {
  const shorter = (answer?.tokens ?? answerTokens) - answerTokens;
  const saved = shorter * (answer?.usdPerToken ?? 0);
  return { tokens: Math.ceil(tokens) - shorter, usd: unitsOf("usd", Math.max(0, usd - saved)), turns: 1 };
}

interface Wanted {
  readonly wanted: Amounts;
  /** Smallest useful part of `wanted`. If absent, all of it is needed. */
  readonly least?: Amounts;
  readonly isCall?: true | undefined;
}

interface Reason {
  readonly limit: BudgetLimit;
  readonly pending?: boolean;
  readonly needed?: Amounts;
  readonly isCall?: true | undefined;
}

function refusalOf(account: BudgetAccount, { limit, pending = false, needed, isCall }: Reason): BudgetRefusal {
  const units = limit === "tokens" || limit === "usd" ? needed?.[limit] : undefined;
  const amount = units && amountOf(limit, units);
  const text = refusalText(limit, account.line(limit), { needed: amount, isCall });
  if (limit === "spawns" || limit === "promptSpawns") account.skipWarning(limit);
  return { refused: true, limit, owner: account.name, pending, ...text };
}

function isPending(answer: unknown): boolean {
  const { refused, pending } = answer as Partial<BudgetRefusal>;
  return refused === true && pending === true;
}

function isAmount(amount: number): boolean {
  return Number.isFinite(amount) && amount >= 0;
}
