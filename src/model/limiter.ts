import type { Clock } from "../ports/index.ts";
import { type Delay, realDelay } from "./delay.ts";

/**
 * How many requests one provider gets from this process, and when. Begins without a limit and learns from refusals.
 * The time between two refusals is a period: as many as were taken in one are let through in the next, a few at a
 * time; beyond that one goes ahead to see whether more is possible, so that a limit that is known costs one refusal.
 * What counts is whether a request was taken, not when its answer ends: providers count requests, answers are long.
 */
export interface Limiter {
  /** A place in the queue. A retry keeps the place of its first try, so nobody is overtaken for ever. */
  ticket(): number;
  /** Settles when the request may go; undefined when the signal was aborted before. */
  enter(ticket: number, signal: AbortSignal): Promise<Pass | undefined>;
  state(): LimiterState;
}

export interface Pass {
  /** The provider has taken the request: the answer begins. */
  taken(): void;
  /** Must be called exactly once, when the request is over. */
  leave(end: PassEnd): void;
}

/** `throttled`: the provider refused because it has too much to do; everybody waits `holdMs`. */
export type PassEnd =
  | { readonly kind: "answered" }
  | { readonly kind: "failed" }
  | { readonly kind: "throttled"; readonly holdMs: number };

export interface LimiterState {
  /** How many are let through at once without a look at what becomes of them. */
  readonly learnt: number;
  /** How many may be answered at once. */
  readonly limit: number;
  readonly active: number;
  readonly waiting: number;
  readonly held: boolean;
}

interface LimiterOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly delay?: Delay;
}

/** So often refused without one request taken in between, it is not their rate: too many are answered at once. */
const refusalsInRow = 3;
/** Answers per unit of limit before one more is tried: slow, so that a limit of this kind is met once, not always. */
const answersToGrow = 8;
/** After this long without a refusal what was learnt is no longer relied on. */
const quietMs = 60_000;

export function createLimiter({ clock, delay = realDelay }: LimiterOptions): Limiter {
  const waiting: Waiting[] = [];
  let tickets = 0;
  let active = 0;
  /** Of the active ones those of which it is not known yet whether they are taken. */
  let undecided = 0;
  let limit = Number.POSITIVE_INFINITY;
  let answers = 0;
  let period = 0;
  let inRow = 0;
  let learnt = Number.POSITIVE_INFINITY;
  /** What the successes of the last period, of which some are known late, may add up to. */
  let most = Number.POSITIVE_INFINITY;
  /** A refusal after requests that were taken one by one, and not only a burst, has said how many are. */
  let isMeasured = false;
  let granted = 0;
  let successes = 0;
  /** How many may be undecided. One more per success doubles what is let through with each round. */
  let ramp = Number.POSITIVE_INFINITY;
  let refusedAt: number | undefined;
  /** In this time the provider's own period is over too, however the two lie. */
  let cycleMs = 0;
  let cycleEnd = Number.NEGATIVE_INFINITY;
  let heldUntil = Number.NEGATIVE_INFINITY;
  let hold: AbortController | undefined;

  function pump(): void {
    turnCycle();
    while (hold === undefined && waiting.length > 0 && mayGo()) waiting.shift()?.go(pass());
    if (waiting.length === 0) dropHold();
  }

  /** Nobody waits, so no timer may keep the process alive; who comes next asks the clock. */
  function dropHold(): void {
    const dropped = hold;
    hold = undefined;
    dropped?.abort();
  }

  function mayGo(): boolean {
    if (active >= limit) return false;
    // What was taken before the first refusal may be what two of the provider's periods allow.
    const known = isMeasured ? learnt : learnt / 2;
    return undecided < (granted < known ? ramp : 1);
  }

  function pass(): Pass {
    active += 1;
    undecided += 1;
    granted += 1;
    const own = period;
    let isDecided = false;
    let hasLeft = false;
    const decide = () => {
      if (isDecided) return false;
      isDecided = true;
      undecided -= 1;
      return true;
    };
    return {
      taken() {
        if (hasLeft || !decide()) return;
        succeed(own);
        pump();
      },
      leave(end) {
        if (hasLeft) throw new Error("A pass of the limiter was given back twice.");
        hasLeft = true;
        if (decide() && end.kind === "answered") succeed(own);
        active -= 1;
        if (end.kind === "throttled") throttle(own, end.holdMs);
        if (end.kind === "answered") growLimit();
        pump();
      },
    };
  }

  function throttle(own: number, holdMs: number): void {
    const now = clock.monotonic();
    // The other refusals of the same burst say nothing new.
    if (own === period) endPeriod(now, holdMs);
    if (now + holdMs <= heldUntil) return;
    heldUntil = now + holdMs;
    holdFor(holdMs);
  }

  function endPeriod(now: number, holdMs: number): void {
    period += 1;
    inRow += 1;
    const answered = active - undecided;
    if (inRow >= refusalsInRow && answered > 0) limit = answered;
    answers = 0;
    const isFirst = learnt === Number.POSITIVE_INFINITY;
    // Nothing was taken: the hold was too short, which says nothing about how many are.
    if (successes > 0 || isFirst) {
      isMeasured = !isFirst;
      most = learnt + 1;
      // Nobody has counted by periods before the first refusal: what was taken an hour ago says nothing.
      learnt = isFirst ? answered : Math.min(successes, most);
      cycleMs = Math.max(2 * holdMs, 1.5 * Math.min(now - (refusedAt ?? now), quietMs));
      refusedAt = now;
    }
    cycleEnd = now + cycleMs;
    granted = 0;
    successes = 0;
    ramp = 1;
  }

  /** A whole cycle without a refusal: what was taken in it may be let through at once in the next. */
  function turnCycle(): void {
    const now = clock.monotonic();
    if (learnt === Number.POSITIVE_INFINITY || now < cycleEnd) return;
    const isQuiet = now >= (refusedAt ?? now) + quietMs;
    if (successes > learnt) learnt = isMeasured && !isQuiet ? learnt + 1 : successes * 2;
    ramp = 1;
    if (isQuiet) limit = Number.POSITIVE_INFINITY;
    if (isQuiet && waiting.length === 0) learnt = ramp = Number.POSITIVE_INFINITY;
    most = learnt;
    cycleEnd = now + cycleMs;
    granted = undecided;
    successes = 0;
  }

  function holdFor(milliseconds: number): void {
    dropHold();
    const mine = new AbortController();
    hold = mine;
    void delay(milliseconds, mine.signal).then(() => {
      if (hold !== mine) return;
      // Timers count from when the event loop last looked at its clock: on a busy machine they fire too early. For a
      // clock that stands still nobody waits twice.
      const left = heldUntil - clock.monotonic();
      if (left > 0 && left < milliseconds) return holdFor(left);
      hold = undefined;
      pump();
    });
  }

  function succeed(own: number): void {
    if (own === period) {
      inRow = 0;
      successes += 1;
      ramp += 1;
    } else if (own === period - 1 && learnt < most) learnt += 1;
  }

  function growLimit(): void {
    answers += 1;
    if (answers < limit * answersToGrow) return;
    answers = 0;
    limit += 1;
  }

  function queue(ticket: number, signal: AbortSignal): Promise<Pass | undefined> {
    return new Promise((resolve) => {
      const onAbort = () => {
        waiting.splice(waiting.indexOf(entry), 1);
        resolve(undefined);
        pump();
      };
      let hasGone = false;
      let isHeard = false;
      const entry: Waiting = {
        ticket,
        go(given) {
          hasGone = true;
          if (isHeard) signal.removeEventListener("abort", onAbort);
          resolve(given);
        },
      };
      const later = waiting.findIndex((other) => other.ticket > ticket);
      waiting.splice(later === -1 ? waiting.length : later, 0, entry);
      if (hold === undefined && clock.monotonic() < heldUntil) holdFor(heldUntil - clock.monotonic());
      pump();
      // Nearly all go at once.
      if (hasGone) return;
      isHeard = true;
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  return {
    ticket() {
      tickets += 1;
      return tickets;
    },
    enter: (ticket, signal) => (signal.aborted ? Promise.resolve(undefined) : queue(ticket, signal)),
    state: () => ({ learnt, limit, active, waiting: waiting.length, held: hold !== undefined }),
  };
}

interface Waiting {
  readonly ticket: number;
  go(pass: Pass): void;
}
