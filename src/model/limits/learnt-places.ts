/**
 * Learns how many requests a provider answers at once (its places).
 *
 * A refusal has two possible causes: too many requests in a period, or too many at once. To tell them apart, the number
 * of requests in flight at a refusal is assumed to be the number of places. From then on, no more requests than that
 * are in flight at once, and each request that ends allows the next one to be sent.
 *
 * - The assumption is proven if three times that number of requests are accepted this way, or if nothing in flight ends
 *   and the provider keeps refusing requests at that number.
 * - It is disproved if a request is refused although a place was free, or accepted although none was. Then the provider
 *   limits the rate.
 *
 * Each period risks one request to test the assumption. This request replaces the one that would have tried a higher
 * rate.
 */
export interface LearntPlaces {
  /** Maximum number of requests in flight; infinite if no number of places is assumed. */
  limit(): number;
  isProven(): boolean;
  /**
   * Returns whether a request may join those in flight. A request beyond the limit tests whether there are more places.
   */
  mayGo(inFlight: number, now: number): boolean;
  /** Returns how many requests that exceed the learned rate may be in flight before the provider accepts one of them. */
  atOnce(inFlight: number): number;
  /**
   * Time at which the result of `mayGo` changes even if no request ends; undefined if no number of places is assumed.
   */
  changesAt(): number | undefined;
  /** Called when a request joins `inFlight` others. */
  sent(inFlight: number): void;
  /** Called when a request is accepted; `inFlight` includes that request. */
  accepted(inFlight: number): void;
  answered(): void;
  /**
   * Called when a request is refused while `inFlight` others are in flight. Returns whether the number of places
   * explains the refusal, so that only the refused request must wait.
   */
  explains(refusal: { readonly inFlight: number; readonly now: number; readonly waitMs: number }): boolean;
  /** Called when another request that was in flight at the latest refusal is refused, too. */
  refusedToo(): void;
  forget(): void;
}

/** Accepted requests per place that prove the number of places. A rate limit would have refused one of them. */
const acceptedToProve = 3;
/** Consecutive refusals, with the assumed number of requests in flight, that also prove the number of places. */
const refusalsToProve = 2;
/** Responses per place before one more place is tried. Attempts are rare, because each one may cost a refusal. */
const answersToGrow = 8;
/** Time after which one more place is tried in any case. */
const growMs = 60_000;

export function createLearntPlaces(): LearntPlaces {
  let places = Number.POSITIVE_INFINITY;
  let isProven = false;
  let acceptedInRow = 0;
  let refusedInRow = 0;
  let answers = 0;
  /**
   * Time from which a request may exceed the number of places: immediately, unless requests have filled the places
   * since the refusal.
   */
  let exceedAt = 0;
  let exceedFilledAt = 0;
  /**
   * Refusals to ignore before the number of places is assumed again. Grows with each disproved assumption.
   */
  let ignored = 0;
  let disproved = 0;

  function suppose(inFlight: number): void {
    places = inFlight;
    acceptedInRow = 0;
    refusedInRow = 0;
    answers = 0;
  }

  function drop(): void {
    places = Number.POSITIVE_INFINITY;
    isProven = false;
  }

  function disprove(): void {
    drop();
    disproved += 1;
    ignored = 2 * disproved;
  }

  return {
    limit: () => places,
    isProven: () => isProven,
    mayGo(inFlight, now) {
      if (inFlight < places || now >= exceedAt) return true;
      return isProven && inFlight === places && answers >= places * answersToGrow;
    },
    atOnce(inFlight) {
      if (inFlight >= places || places === Number.POSITIVE_INFINITY) return 1;
      if (isProven) return Number.POSITIVE_INFINITY;
      // Each request that is accepted beyond the assumed number makes it less likely that a rate limit is reached.
      return 1 + Math.floor(Math.max(0, acceptedInRow - places) / 4);
    },
    changesAt: () => (places === Number.POSITIVE_INFINITY ? undefined : exceedAt),
    sent(inFlight) {
      if (inFlight < places) exceedAt = Math.max(exceedAt, exceedFilledAt);
    },
    accepted(inFlight) {
      if (isProven) places = Math.max(places, inFlight);
      // Responses that are just ending are still in flight here, but no longer at the provider.
      else if (inFlight > places + Math.floor(places / 16)) disprove();
      acceptedInRow += 1;
      refusedInRow = 0;
      if (acceptedInRow >= acceptedToProve * places) isProven = true;
    },
    answered() {
      answers += 1;
    },
    explains({ inFlight, now, waitMs }) {
      if (places === Number.POSITIVE_INFINITY) {
        if (ignored > 0) ignored -= 1;
        else if (inFlight > 0) {
          suppose(inFlight);
          exceedAt = now;
          exceedFilledAt = now + 2 * waitMs;
        }
        return false;
      }
      if (inFlight >= places) {
        refusedInRow += 1;
        if (refusedInRow >= refusalsToProve) isProven = true;
        answers = 0;
        exceedAt = now + (isProven ? growMs : 2 * waitMs);
        return true;
      }
      if (isProven && inFlight > 0 && acceptedInRow >= acceptedToProve * places) {
        suppose(inFlight);
        return true;
      }
      disprove();
      return false;
    },
    refusedToo() {
      places -= 1;
      if (places === 0) drop();
    },
    forget() {
      drop();
      ignored = 0;
      disproved = 0;
    },
  };
}
