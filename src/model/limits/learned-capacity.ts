/**
 * Learns a provider's capacity: how many requests it answers at once.
 *
 * A refusal has two possible causes: too many requests in a period, or too many at once. To tell them apart, the number
 * of requests in flight at a refusal is assumed to be the capacity. From then on, no more requests than that are in
 * flight at once, and each request that ends allows the next one to be sent.
 *
 * - The assumption is proven if three times that number of requests are accepted this way, or if nothing in flight ends
 *   and the provider keeps refusing requests at that number.
 * - It is disproved if a request is refused below the capacity, or accepted beyond it. The provider then limits the
 *   rate instead.
 *
 * Each period risks one request to test the assumption, instead of the request that would have tested a higher rate.
 */
export interface LearnedCapacity {
  /** Maximum number of requests in flight; infinite if no capacity is assumed. */
  limit(): number;
  isProven(): boolean;
  /**
   * Returns whether a request may join those in flight. A request beyond the limit tests whether the capacity is higher.
   */
  mayGo(inFlight: number, now: number): boolean;
  /** Returns how many requests that exceed the learned rate may be in flight before the provider accepts one of them. */
  atOnce(inFlight: number): number;
  /**
   * Time at which the result of `mayGo` changes even if no request ends; undefined if no capacity is assumed.
   */
  changesAt(): number | undefined;
  /** Called when a request joins `inFlight` others. */
  sent(inFlight: number): void;
  /** Called when a request is accepted; `inFlight` includes that request. */
  accepted(inFlight: number): void;
  answered(): void;
  /**
   * Called when a request is refused while `inFlight` others are in flight. Returns whether the capacity explains
   * the refusal, so that only the refused request must wait.
   */
  explains(refusal: { readonly inFlight: number; readonly now: number; readonly waitMs: number }): boolean;
  /** Called when another request that was in flight at the latest refusal is refused too. */
  refusedToo(): void;
  forget(): void;
}

/**
 * Number of accepted requests that prove the capacity, as a multiple of the capacity. A rate limit would have refused
 * one of them.
 */
const acceptedToProve = 3;
/** Number of consecutive refusals, with the assumed number of requests in flight, that also prove the capacity. */
const refusalsToProve = 2;
/**
 * Number of responses before a higher capacity is tried, as a multiple of the capacity. Attempts are rare, because each
 * may be refused.
 */
const answersToGrow = 8;
/** Time after which a higher capacity is tried in any case. */
const growMs = 60_000;

export function createLearnedCapacity(): LearnedCapacity {
  let capacity = Number.POSITIVE_INFINITY;
  let isProven = false;
  let acceptedInRow = 0;
  let refusedInRow = 0;
  let answers = 0;
  /**
   * Time from which a request may exceed the capacity: immediately, unless requests have used the full capacity since
   * the refusal.
   */
  let exceedAt = 0;
  let exceedFilledAt = 0;
  /**
   * Number of refusals to ignore before a capacity is assumed again. Grows with each disproved assumption.
   */
  let ignored = 0;
  let disproved = 0;

  function suppose(inFlight: number): void {
    capacity = inFlight;
    acceptedInRow = 0;
    refusedInRow = 0;
    answers = 0;
  }

  function drop(): void {
    capacity = Number.POSITIVE_INFINITY;
    isProven = false;
  }

  function disprove(): void {
    drop();
    disproved += 1;
    ignored = 2 * disproved;
  }

  return {
    limit: () => capacity,
    isProven: () => isProven,
    mayGo(inFlight, now) {
      if (inFlight < capacity || now >= exceedAt) return true;
      return isProven && inFlight === capacity && answers >= capacity * answersToGrow;
    },
    atOnce(inFlight) {
      if (inFlight >= capacity || capacity === Number.POSITIVE_INFINITY) return 1;
      if (isProven) return Number.POSITIVE_INFINITY;
      // The more requests have been accepted in a row, the less likely it is that the next ones reach a rate limit.
      return 1 + Math.floor(Math.max(0, acceptedInRow - capacity) / 4);
    },
    changesAt: () => (capacity === Number.POSITIVE_INFINITY ? undefined : exceedAt),
    sent(inFlight) {
      if (inFlight < capacity) exceedAt = Math.max(exceedAt, exceedFilledAt);
    },
    accepted(inFlight) {
      if (isProven) capacity = Math.max(capacity, inFlight);
      // Responses that are just ending are still in flight here, but no longer at the provider.
      else if (inFlight > capacity + Math.floor(capacity / 16)) disprove();
      acceptedInRow += 1;
      refusedInRow = 0;
      if (acceptedInRow >= acceptedToProve * capacity) isProven = true;
    },
    answered() {
      answers += 1;
    },
    explains({ inFlight, now, waitMs }) {
      if (capacity === Number.POSITIVE_INFINITY) {
        if (ignored > 0) ignored -= 1;
        else if (inFlight > 0) {
          suppose(inFlight);
          exceedAt = now;
          exceedFilledAt = now + 2 * waitMs;
        }
        return false;
      }
      if (inFlight >= capacity) {
        refusedInRow += 1;
        if (refusedInRow >= refusalsToProve) isProven = true;
        answers = 0;
        exceedAt = now + (isProven ? growMs : 2 * waitMs);
        return true;
      }
      if (isProven && inFlight > 0 && acceptedInRow >= acceptedToProve * capacity) {
        suppose(inFlight);
        return true;
      }
      disprove();
      return false;
    },
    refusedToo() {
      capacity -= 1;
      if (capacity === 0) drop();
    },
    forget() {
      drop();
      ignored = 0;
      disproved = 0;
    },
  };
}
