import { LONGEST_TIMER_MS } from "../../lib/index.ts";
import type { Clock } from "../../ports/index.ts";
import type { Usage } from "../../protocol/index.ts";
import type { BudgetLimit, BudgetLine } from "./budget-text.ts";
import type { SlotLimit } from "./slots.ts";

/** Limits that are counted in whole units, so that sums are exact. Dollars are counted in billionths. */
export type Counted = Exclude<BudgetLimit, "seconds" | "concurrent">;
export type Amounts = Partial<Readonly<Record<Counted, number>>>;
export type AccountLimits = { readonly [Limit in BudgetLimit]?: number | undefined };

const counted = ["tokens", "usd", "turns", "spawns", "promptSpawns"] as const;
const nothing: Readonly<Record<Counted, number>> = { tokens: 0, usd: 0, turns: 0, spawns: 0, promptSpawns: 0 };
const DOLLAR = 1e9;
const SECOND = 1_000;
const WARNING_SHARE = 0.8;

export interface Exceeded {
  readonly limit: BudgetLimit;
  /**
   * `wait`: there may be room once other requests settle. `shorten`: a shorter response would fit. `refuse`: neither
   * helps.
   */
  readonly remedy: "refuse" | "wait" | "shorten";
}

/** An agent that is working. */
export interface Work {
  /** Called when an account's time limit is reached. */
  onOver(account: BudgetAccount): void;
}

/**
 * Account of one budget: its limits, the amounts used and reserved, and the time during which any of its agents worked.
 */
export class BudgetAccount {
  readonly name: string;
  readonly limits: AccountLimits;
  readonly used = { ...nothing };
  /**
   * Slots for the `concurrent` limit. A limit below one prevents agents from being started, but an agent that runs
   * anyway must not wait forever.
   */
  readonly slots: SlotLimit | undefined;
  unpriced = 0;
  /** The part of `used` that was charged for requests whose responses were lost. */
  readonly estimated = { tokens: 0, usd: 0 };
  private readonly reserved = { ...nothing };
  private readonly limited: readonly Counted[];
  private readonly clock: Pick<Clock, "monotonic">;
  private readonly warned = new Set<BudgetLimit>();
  private milliseconds = 0;
  private readonly works = new Set<Work>();
  private workingSince = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(name: string, limits: AccountLimits, clock: Pick<Clock, "monotonic">) {
    for (const [limit, amount] of Object.entries(limits))
      if (amount !== undefined) requireAmount(amount, `The ${limit} limit of ${name}`);
    this.name = name;
    this.limits = limits;
    this.limited = counted.filter((limit) => limits[limit] !== undefined);
    this.clock = clock;
    if (limits.concurrent !== undefined) this.slots = { capacity: Math.max(1, limits.concurrent), taken: 0 };
  }

  reserve(amounts: Amounts): void {
    for (const limit of counted) this.reserved[limit] += amounts[limit] ?? 0;
  }

  release(amounts: Amounts): void {
    for (const limit of counted) this.reserved[limit] -= amounts[limit] ?? 0;
  }

  use(amounts: Amounts): void {
    for (const limit of counted) this.used[limit] += amounts[limit] ?? 0;
  }

  unspawn(): void {
    this.used.spawns -= 1;
    // The count may have been reset by a new prompt since the agent was spawned.
    this.used.promptSpawns = Math.max(0, this.used.promptSpawns - 1);
  }

  resetSpawns(): void {
    this.used.promptSpawns = 0;
    this.warned.delete("promptSpawns");
  }

  /**
   * Starts counting time for an agent. Calls `onOver` when the `seconds` limit is reached while the agent works, or
   * immediately if it has already been reached.
   */
  beginWork(work: Work): void {
    if (this.works.size === 0) this.workingSince = this.clock.monotonic();
    this.works.add(work);
    this.watch();
  }

  endWork(work: Work): void {
    this.addSeconds(0);
    this.works.delete(work);
    if (this.works.size === 0) this.stopWatching();
  }

  addSeconds(seconds: number): void {
    this.milliseconds = this.elapsed() + seconds * SECOND;
    this.workingSince = this.clock.monotonic();
  }

  private isLate(): boolean {
    const { seconds } = this.limits;
    return seconds !== undefined && this.elapsed() >= seconds * SECOND;
  }

  /** Waits for the time limit. A timer may fire early, so the clock is checked again when it fires. */
  private watch(): void {
    const { seconds } = this.limits;
    if (seconds === undefined || this.timer !== undefined) return;
    const leftMs = Math.max(0, seconds * SECOND - this.elapsed());
    const onTimer = (): void => {
      this.timer = undefined;
      if (this.isLate()) for (const work of [...this.works]) work.onOver(this);
      else this.watch();
    };
    this.timer = setTimeout(onTimer, Math.min(Math.ceil(leftMs), LONGEST_TIMER_MS)).unref();
  }

  private stopWatching(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  seconds(): number {
    return this.elapsed() / SECOND;
  }

  /**
   * Returns the limits that leave no room for `wanted`, each with a remedy. `least` is the smallest useful part of
   * `wanted`.
   */
  exceeded(wanted: Amounts, least: Amounts = wanted): readonly Exceeded[] {
    const over = this.limited.flatMap((limit): readonly Exceeded[] => {
      const amount = wanted[limit];
      const room = this.room(limit);
      if (amount === undefined || room >= amount) return [];
      const reserved = this.reserved[limit];
      if (room + reserved < (least[limit] ?? amount)) return [{ limit, remedy: "refuse" }];
      return [{ limit, remedy: reserved > 0 ? "wait" : "shorten" }];
    });
    return this.isLate() ? [{ limit: "seconds", remedy: "refuse" }, ...over] : over;
  }

  /** Returns the length of the longest response, in tokens, that fits in addition to `fixed`. */
  roomForAnswer(fixed: Amounts, usdPerToken: number): number {
    const rooms = this.limited.map((limit) => {
      const perToken = limit === "tokens" ? 1 : limit === "usd" ? usdPerToken * DOLLAR : 0;
      const room = this.room(limit) - (fixed[limit] ?? 0);
      return perToken === 0 ? Number.POSITIVE_INFINITY : Math.floor(room / perToken);
    });
    return Math.min(...rooms);
  }

  lines(): readonly (readonly [BudgetLimit, BudgetLine])[] {
    return (Object.keys(this.limits) as BudgetLimit[]).map((limit) => [limit, this.line(limit)] as const);
  }

  line(limit: BudgetLimit): BudgetLine {
    const { limits, name } = this;
    const amount = limits[limit] ?? Number.POSITIVE_INFINITY;
    const [used, reserved] = this.state(limit);
    const left = Math.max(0, unitsOf(limit, amount) - used - reserved);
    const shown = (units: number): number => amountOf(limit, units);
    const estimated = limit === "tokens" || limit === "usd" ? this.estimated[limit] : 0;
    return {
      owner: name,
      limit: amount,
      used: shown(used),
      reserved: shown(reserved),
      left: shown(left),
      estimated: estimated === 0 ? undefined : shown(estimated),
    };
  }

  /**
   * Returns the limits that are nearly used up, each only once. Limits on the number of agents are included only for an
   * agent that starts agents.
   */
  takeWarnings({ startsAgents }: { readonly startsAgents: boolean }): readonly (readonly [BudgetLimit, BudgetLine])[] {
    return this.lines().filter(([limit, line]) => {
      if (limit === "concurrent" || line.limit === 0 || this.warned.has(limit)) return false;
      if (!startsAgents && (limit === "spawns" || limit === "promptSpawns")) return false;
      if (line.used < line.limit * WARNING_SHARE) return false;
      this.warned.add(limit);
      return true;
    });
  }

  /** Skips the warning about a limit that has refused a request, because the refusal already mentions the limit. */
  skipWarning(limit: BudgetLimit): void {
    this.warned.add(limit);
  }

  /** Returns the remaining amount, which is negative if more was used than had been reserved. */
  private room(limit: Counted): number {
    return unitsOf(limit, this.limits[limit] ?? Number.POSITIVE_INFINITY) - this.used[limit] - this.reserved[limit];
  }

  private state(limit: BudgetLimit): readonly [used: number, reserved: number] {
    if (limit === "seconds") return [this.elapsed(), 0];
    if (limit === "concurrent") return [this.slots?.taken ?? 0, 0];
    return [this.used[limit], this.reserved[limit]];
  }

  private elapsed(): number {
    return this.milliseconds + (this.works.size > 0 ? this.clock.monotonic() - this.workingSince : 0);
  }
}

export function unitsOf(limit: BudgetLimit, amount: number): number {
  if (limit === "usd") return Math.round(amount * DOLLAR);
  return limit === "seconds" ? amount * SECOND : amount;
}

export function amountOf(limit: BudgetLimit, units: number): number {
  if (limit === "usd") return units / DOLLAR;
  return limit === "seconds" ? units / SECOND : units;
}

export function tokensOf({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens }: Usage): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens;
}

/**
 * Throws unless the amount is at least 0. Rejects NaN too, because every comparison with NaN is false, so a limit of
 * NaN would not limit anything.
 */
function requireAmount(amount: number, what: string): void {
  if (!(amount >= 0)) throw new RangeError(`${what} must be at least 0, not ${amount}.`);
}
