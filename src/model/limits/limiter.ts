import type { Clock } from "../../ports/index.ts";
import { createAlarm } from "./alarm.ts";
import { type Delay, realDelay } from "./delay.ts";
import { createLearntPlaces } from "./learnt-places.ts";
import { createLearntRate } from "./learnt-rate.ts";

/**
 * Decides when the requests of this process to one provider may go. It begins without a limit and learns from how the
 * provider pushes back:
 *
 * - Every request that failed waits as long as it was told to, first come first served afterwards.
 * - A refusal holds all requests for as long, unless the number of requests in flight explains it (`learnt-places.ts`).
 *   After that, as many go as the provider accepted before (`learnt-rate.ts`).
 * - An overload delays only its own request. Three in a row with nothing accepted in between hold all requests.
 *
 * A hold ends with one request; each one that is accepted lets two more go.
 */
export interface Limiter {
  /** Returns a position in the queue. A retry uses the ticket of its first attempt, so that later requests don't overtake it. */
  ticket(): Ticket;
  /** Settles when the request may go, or with undefined when the signal is aborted first. */
  enter(ticket: Ticket, signal: AbortSignal): Promise<Pass | undefined>;
  state(): LimiterState;
}

export interface Ticket {
  readonly number: number;
  /** Earliest time of the next attempt. */
  notBefore: number;
}

export interface Pass {
  /** Call this when the provider has accepted the request: its answer begins. */
  taken(): void;
  /** Call this exactly once, when the request is over. */
  leave(end: PassEnd): void;
}

/** After `waitMs` the same ticket may enter again. */
export type PassEnd =
  | { readonly kind: "answered" }
  /** Says nothing about the load of the provider. */
  | { readonly kind: "failed"; readonly waitMs?: number }
  /** The provider failed, without saying when to come again. */
  | { readonly kind: "overloaded"; readonly waitMs: number }
  /** The provider refused the request because of its limits, or said when to come again. */
  | { readonly kind: "refused"; readonly waitMs: number };

export interface LimiterState {
  /** Requests that may go at once in a period. */
  readonly perPeriod: number;
  /** Requests that may be in flight at once, as far as that is proven. */
  readonly places: number;
  readonly active: number;
  readonly waiting: number;
  readonly held: boolean;
}

interface LimiterOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly delay?: Delay;
}

const overloadsToHold = 3;
/** Least time after which a request counts as accepted. */
const leastMs = 25;
/** Everything learnt is forgotten after this time without a refusal. */
const quietMs = 60_000;

export function createLimiter({ clock, delay = realDelay }: LimiterOptions): Limiter {
  const rate = createLearntRate();
  const places = createLearntPlaces();
  const alarm = createAlarm({ clock, delay, ring: pump });
  const waiting: Waiting[] = [];
  /** Requests in flight that the provider has neither accepted nor pushed back yet, oldest first. */
  const undecided = new Set<Sent>();
  /** How many requests may be undecided at once. One after a hold, and one more for each that is accepted. */
  let mostUndecided = Number.POSITIVE_INFINITY;
  let tickets = 0;
  let active = 0;
  /** Requests that were accepted and did not fail afterwards. */
  let accepted = 0;
  /** Overloads in a row, and `accepted` at the latest one. */
  let overloads = { inRow: 0, accepted: 0 };
  /** Number of refusals so far that held all requests. */
  let period = 0;
  let heldUntil = Number.NEGATIVE_INFINITY;
  let refusedAt = Number.POSITIVE_INFINITY;
  /** Providers push back quickly: a request that is out for longer than this has been accepted. */
  let decidedMs = Number.POSITIVE_INFINITY;

  /** Sends all requests that may go now. */
  function pump(): void {
    const now = alarm.now();
    for (const sent of undecided) {
      if (now < sent.at + decidedMs) break;
      accept(sent);
    }
    const isCapped = places.limit() < Number.POSITIVE_INFINITY;
    if (now >= heldUntil && rate.turn({ now, undecided: undecided.size, isCapped })) mostUndecided = 1;
    for (;;) {
      const index = waiting.findIndex(({ ticket }) => ticket.notBefore <= now);
      if (index < 0 || !mayGo(now)) break;
      const [next] = waiting.splice(index, 1);
      next?.go(pass(next.ticket, now));
    }
    alarm.set(nextChange(now));
  }

  function mayGo(now: number): boolean {
    if (now < heldUntil || !places.mayGo(active, now)) return false;
    const isKnown = active < places.limit() && rate.hasRoom();
    return undecided.size < Math.min(mostUndecided, isKnown ? Number.POSITIVE_INFINITY : places.atOnce(active));
  }

  /** Returns when a waiting request may go although nothing else happens until then. */
  function nextChange(now: number): number | undefined {
    if (waiting.length === 0) return undefined;
    if (now < heldUntil) return heldUntil;
    const [oldest] = undecided;
    let next = Number.POSITIVE_INFINITY;
    const consider = (at: number) => {
      if (at > now && at < next) next = at;
    };
    for (const { ticket } of waiting) consider(ticket.notBefore);
    consider(places.changesAt() ?? now);
    if (oldest !== undefined) consider(oldest.at + decidedMs);
    return next === Number.POSITIVE_INFINITY ? undefined : next;
  }

  function pass(ticket: Ticket, now: number): Pass {
    const sent: Sent = { at: now, period, beside: active, isAccepted: false, isTaken: false };
    places.sent(active);
    rate.sent();
    active += 1;
    undecided.add(sent);
    let hasLeft = false;
    return {
      taken() {
        if (hasLeft) return;
        sent.isTaken = true;
        accept(sent);
        pump();
      },
      leave(end) {
        if (hasLeft) throw new Error("A pass of the limiter was returned twice.");
        hasLeft = true;
        if (end.kind === "answered") {
          accept(sent);
          places.answered();
        } else ticket.notBefore = alarm.now() + (end.waitMs ?? 0);
        active -= 1;
        if (end.kind === "overloaded") overload(sent, end.waitMs);
        if (end.kind === "refused") refuse(sent, end.waitMs);
        undecided.delete(sent);
        pump();
      },
    };
  }

  function accept(sent: Sent): void {
    if (!undecided.delete(sent)) return;
    sent.isAccepted = true;
    accepted += 1;
    if (sent.period !== period) return;
    mostUndecided += 1;
    places.accepted(active);
  }

  function pushedBack(sent: Sent): void {
    if (sent.isAccepted) accepted -= 1;
    if (sent.isTaken) return;
    const tookMs = alarm.now() - sent.at;
    // When many are sent at once, their times rather show how busy this process is, so the shortest counts.
    const isAlone = sent.period > 0 && sent.period === period;
    decidedMs = isAlone ? 2 * tookMs + leastMs : Math.min(decidedMs, tookMs + leastMs);
  }

  function overload(sent: Sent, waitMs: number): void {
    pushedBack(sent);
    const [oldest] = undecided;
    // A request that was sent earlier has not failed so far.
    if (undecided.has(sent) && oldest !== sent) return;
    const inRow = accepted > overloads.accepted ? 1 : overloads.inRow + 1;
    overloads = { inRow, accepted };
    if (inRow < overloadsToHold) return;
    heldUntil = Math.max(heldUntil, alarm.now() + waitMs);
    mostUndecided = 1;
  }

  function refuse(sent: Sent, waitMs: number): void {
    const now = alarm.now();
    pushedBack(sent);
    refusedAt = now;
    if (sent.period !== period) {
      // It was sent before the refusal that ended its period. All it says is that one request less was accepted.
      if (sent.period === period - 1 && !places.isProven()) {
        rate.refusedToo();
        places.refusedToo();
      }
    } else {
      const inFlight = Math.max(active, sent.beside);
      if (places.explains({ inFlight, now, waitMs })) return;
      period += 1;
      mostUndecided = 1;
      rate.refused({ inFlight: active, now, waitMs });
    }
    heldUntil = Math.max(heldUntil, now + waitMs);
  }

  function queue(ticket: Ticket, signal: AbortSignal): Promise<Pass | undefined> {
    if (waiting.length === 0 && alarm.now() >= refusedAt + quietMs) forget();
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
      const later = waiting.findIndex((other) => other.ticket.number > ticket.number);
      waiting.splice(later === -1 ? waiting.length : later, 0, entry);
      pump();
      // Nearly all requests go at once.
      if (hasGone) return;
      isHeard = true;
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  function forget(): void {
    refusedAt = Number.POSITIVE_INFINITY;
    mostUndecided = Number.POSITIVE_INFINITY;
    rate.forget();
    places.forget();
  }

  return {
    ticket() {
      tickets += 1;
      return { number: tickets, notBefore: Number.NEGATIVE_INFINITY };
    },
    enter: (ticket, signal) => (signal.aborted ? Promise.resolve(undefined) : queue(ticket, signal)),
    state: () => ({
      perPeriod: rate.perPeriod(),
      places: places.isProven() ? places.limit() : Number.POSITIVE_INFINITY,
      active,
      waiting: waiting.length,
      held: waiting.length > 0 && alarm.now() < heldUntil,
    }),
  };
}

/** A request in flight. */
interface Sent {
  readonly at: number;
  readonly period: number;
  /** Requests that were in flight when it was sent. */
  readonly beside: number;
  isAccepted: boolean;
  /** Whether it is known that it was accepted, and not only concluded from the time. */
  isTaken: boolean;
}

interface Waiting {
  readonly ticket: Ticket;
  go(pass: Pass): void;
}
