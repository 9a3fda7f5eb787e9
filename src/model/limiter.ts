import type { Clock } from "../ports/index.ts";
import { type Delay, realDelay } from "./delay.ts";

/**
 * How many requests one provider gets at once from this process. Begins without a limit; learns one from refusals
 * (halved at each, grown again by successes). The time between two refusals is a period: what went well in one is let
 * through in the next, a few at a time, and beyond that one request goes ahead to see whether more is possible.
 */
export interface Limiter {
  /** A place in the queue. A retry keeps the place of its first try, so nobody is overtaken for ever. */
  ticket(): number;
  /** Settles when the request may go; undefined when the signal was aborted before. */
  enter(ticket: number, signal: AbortSignal): Promise<Pass | undefined>;
  state(): LimiterState;
}

export interface Pass {
  /** Must be called exactly once, when the request is over. */
  leave(end: PassEnd): void;
}

/** `throttled`: the provider refused because it has too much to do; everybody waits `holdMs`. */
export type PassEnd =
  | { readonly kind: "answered" }
  | { readonly kind: "failed" }
  | { readonly kind: "throttled"; readonly holdMs: number };

export interface LimiterState {
  readonly limit: number;
  readonly active: number;
  readonly waiting: number;
  readonly held: boolean;
}

interface LimiterOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly delay?: Delay;
}

/** Successes per unit of limit before one more is tried: slow, so that a steady rate limit is met once, not always. */
const successesToGrow = 8;
/** After this long without a refusal the limit doubles with each further `doubleMs`. */
const quietMs = 60_000;
const doubleMs = 10_000;
const noLimitFrom = 4_096;

export function createLimiter({ clock, delay = realDelay }: LimiterOptions): Limiter {
  const waiting: Waiting[] = [];
  let tickets = 0;
  let active = 0;
  let limit = Number.POSITIVE_INFINITY;
  /** How many may go while it is not known yet whether the refusals are over. */
  let ramp = Number.POSITIVE_INFINITY;
  let period = 0;
  /** How many went well in the last period. */
  let learnt = Number.POSITIVE_INFINITY;
  let granted = 0;
  let successes = 0;
  let sinceGrowth = 0;
  let growAt = 0;
  let heldUntil = Number.NEGATIVE_INFINITY;
  let hold: AbortController | undefined;

  function pump(): void {
    while (hold === undefined && waiting.length > 0 && active < allowed()) waiting.shift()?.go(pass());
    if (waiting.length === 0) dropHold();
  }

  /** Nobody waits, so no timer may keep the process alive; who comes next asks the clock. */
  function dropHold(): void {
    const dropped = hold;
    hold = undefined;
    dropped?.abort();
  }

  function allowed(): number {
    return Math.min(limit, ramp, granted < learnt ? Number.POSITIVE_INFINITY : 1);
  }

  function pass(): Pass {
    active += 1;
    granted += 1;
    const own = period;
    let left = false;
    return {
      leave(end) {
        if (left) throw new Error("A pass of the limiter was given back twice.");
        left = true;
        if (end.kind === "throttled") throttle(own, end.holdMs);
        active -= 1;
        if (end.kind === "answered") succeed(own);
        pump();
      },
    };
  }

  function throttle(own: number, holdMs: number): void {
    // The other refusals of the same burst say nothing new.
    if (own === period) {
      period += 1;
      limit = Math.max(1, Math.floor(active / 2));
      learnt = successes;
      granted = 0;
      successes = 0;
      sinceGrowth = 0;
      ramp = 1;
    }
    const until = clock.monotonic() + holdMs;
    if (until <= heldUntil) return;
    heldUntil = until;
    growAt = until + quietMs;
    holdFor(holdMs);
  }

  function holdFor(milliseconds: number): void {
    dropHold();
    const mine = new AbortController();
    hold = mine;
    void delay(milliseconds, mine.signal).then(() => {
      if (hold !== mine) return;
      hold = undefined;
      pump();
    });
  }

  function succeed(own: number): void {
    if (own !== period) {
      if (own === period - 1) learnt += 1;
      return;
    }
    successes += 1;
    // One more per success doubles what is let through with each round of answers.
    ramp += 1;
    if (successes > learnt) learnt = successes * 2;
    if (limit === Number.POSITIVE_INFINITY) return;
    sinceGrowth += 1;
    const now = clock.monotonic();
    if (now >= growAt) {
      growAt = now + doubleMs;
      limit *= 2;
    } else if (sinceGrowth >= limit * successesToGrow) {
      sinceGrowth = 0;
      limit += 1;
    }
    if (limit >= noLimitFrom) limit = Number.POSITIVE_INFINITY;
  }

  function queue(ticket: number, signal: AbortSignal): Promise<Pass | undefined> {
    return new Promise((resolve) => {
      const onAbort = () => {
        waiting.splice(waiting.indexOf(entry), 1);
        resolve(undefined);
        pump();
      };
      const entry: Waiting = {
        ticket,
        go(given) {
          signal.removeEventListener("abort", onAbort);
          resolve(given);
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const later = waiting.findIndex((other) => other.ticket > ticket);
      waiting.splice(later === -1 ? waiting.length : later, 0, entry);
      if (hold === undefined && clock.monotonic() < heldUntil) holdFor(heldUntil - clock.monotonic());
      pump();
    });
  }

  return {
    ticket() {
      tickets += 1;
      return tickets;
    },
    enter: (ticket, signal) => (signal.aborted ? Promise.resolve(undefined) : queue(ticket, signal)),
    state: () => ({ limit, active, waiting: waiting.length, held: hold !== undefined }),
  };
}

interface Waiting {
  readonly ticket: number;
  go(pass: Pass): void;
}
