import type { Clock } from "../ports/index.ts";
import type { Usage } from "../protocol/index.ts";
import type { BudgetLimit, BudgetLine } from "./budget-text.ts";
import type { Gate } from "./places.ts";

/** What is counted in whole units, so that adding and taking away leaves nothing behind: dollars in billionths. */
export type Counted = Exclude<BudgetLimit, "seconds" | "concurrent">;
export type Amounts = Partial<Readonly<Record<Counted, number>>>;
export type LimitsOf = Partial<Readonly<Record<BudgetLimit, number>>>;

const counted = ["tokens", "usd", "turns", "spawns", "promptSpawns"] as const;
const nothing: Readonly<Record<Counted, number>> = { tokens: 0, usd: 0, turns: 0, spawns: 0, promptSpawns: 0 };
const DOLLAR = 1e9;
const SECOND = 1_000;
const WARNING_SHARE = 0.8;

/** The books of one budget: its limits, what is used and reserved of them, and the time in which anybody worked. */
export class BudgetAccount {
  readonly name: string;
  readonly limits: LimitsOf;
  readonly used = { ...nothing };
  /** For `concurrent`; a limit below one lets nobody be started, and whoever enters all the same must not wait for ever. */
  readonly gate: Gate | undefined;
  unpriced = 0;
  private readonly reserved = { ...nothing };
  /** Of what is counted that which has a limit. */
  private readonly limited: readonly Counted[];
  private readonly clock: Pick<Clock, "monotonic">;
  private readonly told = new Set<BudgetLimit>();
  private milliseconds = 0;
  private workers = 0;
  private workingSince = 0;

  constructor(name: string, limits: LimitsOf, clock: Pick<Clock, "monotonic">) {
    for (const [limit, amount] of Object.entries(limits)) demandAmount(amount, `The limit ${limit} of ${name}`);
    this.name = name;
    this.limits = limits;
    this.limited = counted.filter((limit) => limits[limit] !== undefined);
    this.clock = clock;
    if (limits.concurrent !== undefined) this.gate = { capacity: Math.max(1, limits.concurrent), taken: 0 };
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

  /** A new prompt may have begun in between. */
  unspawn(): void {
    this.used.spawns -= 1;
    this.used.promptSpawns = Math.max(0, this.used.promptSpawns - 1);
  }

  resetSpawns(): void {
    this.used.promptSpawns = 0;
    this.told.delete("promptSpawns");
  }

  beginWork(): void {
    if (this.workers === 0) this.workingSince = this.clock.monotonic();
    this.workers += 1;
  }

  endWork(): void {
    this.addSeconds(0);
    this.workers -= 1;
  }

  addSeconds(seconds: number): void {
    this.milliseconds = this.elapsed() + seconds * SECOND;
    this.workingSince = this.clock.monotonic();
  }

  seconds(): number {
    return this.elapsed() / SECOND;
  }

  /** Limits that leave no room for these, each with whether it would once what is reserved is given back. */
  exceeded(wanted: Amounts): readonly { readonly limit: BudgetLimit; readonly pending: boolean }[] {
    const { seconds } = this.limits;
    const isLate = seconds !== undefined && this.elapsed() >= seconds * SECOND;
    const over = this.limited.flatMap((limit) => {
      const amount = wanted[limit];
      const room = this.room(limit);
      if (amount === undefined || room >= amount) return [];
      return [{ limit, pending: room + this.reserved[limit] >= amount }];
    });
    return isLate ? [{ limit: "seconds", pending: false }, ...over] : over;
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
    return { of: name, limit: amount, used: shown(used), reserved: shown(reserved), left: shown(left) };
  }

  /** Those of which most is used, each once. Who starts no agents can do nothing about their number. */
  takeWarnings({ starts }: { readonly starts: boolean }): readonly (readonly [BudgetLimit, BudgetLine])[] {
    return this.lines().filter(([limit, line]) => {
      if (limit === "concurrent" || line.limit === 0 || this.told.has(limit)) return false;
      if (!starts && (limit === "spawns" || limit === "promptSpawns")) return false;
      if (line.used < line.limit * WARNING_SHARE) return false;
      this.told.add(limit);
      return true;
    });
  }

  /** Below zero where more was used than had been reserved. */
  private room(limit: Counted): number {
    return unitsOf(limit, this.limits[limit] ?? Number.POSITIVE_INFINITY) - this.used[limit] - this.reserved[limit];
  }

  private state(limit: BudgetLimit): readonly [used: number, reserved: number] {
    if (limit === "seconds") return [this.elapsed(), 0];
    if (limit === "concurrent") return [this.gate?.taken ?? 0, 0];
    return [this.used[limit], this.reserved[limit]];
  }

  private elapsed(): number {
    return this.milliseconds + (this.workers > 0 ? this.clock.monotonic() - this.workingSince : 0);
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

/** Comparing with NaN is never true: it would be no limit at all. */
function demandAmount(amount: number, what: string): void {
  if (!(amount >= 0)) throw new RangeError(`${what} must be a number from 0, not ${amount}.`);
}
