import type { Clock } from "../../ports/index.ts";
import { createAlarm } from "./alarm.ts";
import { type Delay, realDelay } from "./delay.ts";
import { createLearnedCapacity } from "./learned-capacity.ts";
import { createLearnedRate } from "./learned-rate.ts";

/**
 * Decides when this process may send its requests to one model with one key. The limiter begins without a limit and learns from
 * how the provider pushes back:
 *
 * - Each failed request waits for its own delay; after that, requests are sent in the order they arrived.
 * - A refusal delays all requests by the same time, unless the number of requests in flight explains the refusal
 *   (`learned-capacity.ts`). After that, as many requests are sent as the provider accepted before (`learned-rate.ts`).
 * - An overload delays only its own request. Three overloads in a row, with nothing accepted in between, delay all
 *   requests.
 *
 * After all requests have been delayed, one request is sent; each request that is accepted allows two more.
 */
export interface Limiter {
  /**
   * Returns a position in the queue. A retry uses the ticket of its first attempt, so that later requests don't
   * overtake it.
   */
  ticket(): Ticket;
  /**
   * Resolves when the request may be sent, or to undefined if the signal is aborted first. Calls `onWait` if the request
   * can't be sent at once.
   */
  enter(ticket: Ticket, signal: AbortSignal, onWait?: () => void): Promise<Pass | undefined>;
  state(): LimiterState;
}

export interface Ticket {
  readonly number: number;
  /** Earliest time of the next attempt. */
  notBefore: number;
}

export interface Pass {
  /** Call this when the provider has accepted the request, that is, when the response begins. */
  taken(): void;
  /** Call this exactly once, when the request is over. */
  leave(end: PassEnd): void;
}

/** How a request ended. After `waitMs`, the request's ticket may enter the queue again. */
export type PassEnd =
  | { readonly kind: "answered" }
  /** The request failed in a way that says nothing about the provider's load. */
  | { readonly kind: "failed"; readonly waitMs?: number }
  /** The provider failed without saying when to try again. */
  | { readonly kind: "overloaded"; readonly waitMs: number }
  /** The provider refused the request because of its limits, or said when to try again. */
  | { readonly kind: "refused"; readonly waitMs: number };

export interface LimiterState {
  /** Number of requests that may be sent at once in a period. */
  readonly perPeriod: number;
  /** Proven maximum number of requests in flight at once; infinite if none is proven. */
  readonly capacity: number;
  readonly active: number;
  readonly waiting: number;
  readonly held: boolean;
}

interface LimiterOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly delay?: Delay;
}

const overloadsToHold = 3;
/** Minimum time after which a request is assumed to be accepted. */
const leastMs = 25;
/** Everything learned is forgotten after this time without a refusal. */
const quietMs = 60_000;

export function createLimiter({ clock, delay = realDelay }: LimiterOptions): Limiter {
  const rate = createLearnedRate();
  const capacity = createLearnedCapacity();
  const alarm = createAlarm({ clock, delay, ring: pump });
  const waiting: Waiting[] = [];
  /** Requests in flight that the provider has neither accepted nor rejected yet, oldest first. */
  const undecided = new Set<Sent>();
  /**
   * Maximum number of undecided requests: one after a delay of all requests, and one more for each accepted request.
   */
  let mostUndecided = Number.POSITIVE_INFINITY;
  let tickets = 0;
  let active = 0;
  /** Number of requests that were accepted and did not fail afterwards. */
  let accepted = 0;
  /** Number of consecutive overloads, and the value of `accepted` at the latest one. */
  let overloads = { inRow: 0, accepted: 0 };
  /** Number of refusals so far that delayed all requests. */
  let period = 0;
  let heldUntil = Number.NEGATIVE_INFINITY;
  let refusedAt = Number.POSITIVE_INFINITY;
  /**
   * A request that has been in flight for longer than this is assumed to be accepted, because providers refuse quickly.
   */
  let decidedMs = Number.POSITIVE_INFINITY;

  /** Sends all requests that may be sent now. */
  function pump(): void {
    const now = alarm.now();
    for (const sent of undecided) {
      if (now < sent.at + decidedMs) break;
      accept(sent);
    }
    const isCapped = capacity.limit() < Number.POSITIVE_INFINITY;
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
    if (now < heldUntil || !capacity.mayGo(active, now)) return false;
    const isKnown = active < capacity.limit() && rate.hasRoom();
    return undecided.size < Math.min(mostUndecided, isKnown ? Number.POSITIVE_INFINITY : capacity.atOnce(active));
  }

  /** Returns the next time at which a waiting request may be sent even if nothing else happens. */
  function nextChange(now: number): number | undefined {
    if (waiting.length === 0) return undefined;
    if (now < heldUntil) return heldUntil;
    const [oldest] = undecided;
    let next = Number.POSITIVE_INFINITY;
    const consider = (at: number) => {
      if (at > now && at < next) next = at;
    };
    for (const { ticket } of waiting) consider(ticket.notBefore);
    consider(capacity.changesAt() ?? now);
    if (oldest !== undefined) consider(oldest.at + decidedMs);
    return next === Number.POSITIVE_INFINITY ? undefined : next;
  }

  function pass(ticket: Ticket, now: number): Pass {
    const sent: Sent = { at: now, period, beside: active, isAccepted: false, isTaken: false };
    capacity.sent(active);
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
        if (hasLeft) throw new Error("A pass from the limiter was returned twice.");
        hasLeft = true;
        if (end.kind === "answered") {
          accept(sent);
          capacity.answered();
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
    capacity.accepted(active);
  }

  function pushedBack(sent: Sent): void {
    if (sent.isAccepted) accepted -= 1;
    if (sent.isTaken) return;
    const tookMs = alarm.now() - sent.at;
    // If many requests are sent at once, their response times show how busy this process is, so the shortest time is
    // used.
    const isAlone = sent.period > 0 && sent.period === period;
    decidedMs = isAlone ? 2 * tookMs + leastMs : Math.min(decidedMs, tookMs + leastMs);
  }

  function overload(sent: Sent, waitMs: number): void {
    pushedBack(sent);
    const [oldest] = undecided;
    // An older request is still undecided, and the provider may accept it.
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
      // This request was sent before the refusal that ended its period, so its own refusal only means that one request
      // fewer was accepted in that period.
      if (sent.period === period - 1 && !capacity.isProven()) {
        rate.refusedToo();
        capacity.refusedToo();
      }
    } else {
      const inFlight = Math.max(active, sent.beside);
      if (capacity.explains({ inFlight, now, waitMs })) return;
      period += 1;
      mostUndecided = 1;
      rate.refused({ inFlight: active, now, waitMs });
    }
    heldUntil = Math.max(heldUntil, now + waitMs);
  }

  function queue(ticket: Ticket, signal: AbortSignal, onWait?: () => void): Promise<Pass | undefined> {
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
      // Nearly all requests are sent immediately and need no listener.
      if (hasGone) return;
      isHeard = true;
      signal.addEventListener("abort", onAbort, { once: true });
      onWait?.();
    });
  }

  function forget(): void {
    refusedAt = Number.POSITIVE_INFINITY;
    mostUndecided = Number.POSITIVE_INFINITY;
    rate.forget();
    capacity.forget();
  }

  return {
    ticket() {
      tickets += 1;
      return { number: tickets, notBefore: Number.NEGATIVE_INFINITY };
    },
    enter: (ticket, signal, onWait) => (signal.aborted ? Promise.resolve(undefined) : queue(ticket, signal, onWait)),
    state: () => ({
      perPeriod: rate.perPeriod(),
      capacity: capacity.isProven() ? capacity.limit() : Number.POSITIVE_INFINITY,
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
  /** Number of other requests in flight when this one was sent. */
  readonly beside: number;
  isAccepted: boolean;
  /**
   * True if the provider is known to have accepted the request; false if that is only assumed from the elapsed time.
   */
  isTaken: boolean;
}

interface Waiting {
  readonly ticket: Ticket;
  go(pass: Pass): void;
}
