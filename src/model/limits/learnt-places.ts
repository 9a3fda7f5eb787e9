/**
 * Learns how many requests a provider answers at once: its places.
 *
 * A refusal has two explanations: too many requests in a period, or too many at once. To tell them apart, the number
 * that was in flight at a refusal is supposed to be all places there are. Requests then keep to that number, and each
 * that ends lets the next one go.
 *
 * - If requests are accepted like this for three times that number, or if nothing in flight ends and the provider
 *   refuses at that number again and again, it is proven.
 * - If a request is refused although a place was free, or accepted although none was, it is disproved: the provider
 *   limits the rate.
 *
 * The one request that a period risks for this takes the place of the one that would have tried a higher rate.
 */
export interface LearntPlaces {
  /** Number of requests in flight to keep to; infinite if none is supposed. */
  limit(): number;
  isProven(): boolean;
  /** Returns whether a request may join those in flight. One that exceeds the limit tries whether there are more places. */
  mayGo(inFlight: number, now: number): boolean;
  /** Returns how many requests may go without waiting whether they are accepted, if the rate does not allow them. */
  atOnce(inFlight: number): number;
  /** When `mayGo` changes although nothing ends; undefined if no number is supposed. */
  changesAt(): number | undefined;
  /** Called when a request joins `inFlight` others. */
  sent(inFlight: number): void;
  /** Called when a request was accepted; `inFlight` counts it too. */
  accepted(inFlight: number): void;
  answered(): void;
  /** Called for a refusal beside `inFlight` others. Returns whether the places explain it, so that only this request waits. */
  explains(refusal: { readonly inFlight: number; readonly now: number; readonly waitMs: number }): boolean;
  /** Called when one of those in flight at the latest refusal was refused as well. */
  refusedToo(): void;
  forget(): void;
}

/** Requests accepted per place that prove the number of places. A rate would have to refuse one of them. */
const acceptedToProve = 3;
/** Refusals in a row, all of them with the supposed number in flight, that prove it too. */
const refusalsToProve = 2;
/** Answers per place after which one more place is tried. Few tries, because each may be a refusal. */
const answersToGrow = 8;
/** One more place is also tried after this time. */
const growMs = 60_000;

export function createLearntPlaces(): LearntPlaces {
  let places = Number.POSITIVE_INFINITY;
  let isProven = false;
  let acceptedInRow = 0;
  let refusedInRow = 0;
  let answers = 0;
  /** When a request may exceed the number: at once, unless requests have filled the places since the refusal. */
  let exceedAt = 0;
  let exceedFilledAt = 0;
  /** Refusals to ignore before a number is supposed again. They increase with every number that was disproved. */
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
      // Each request accepted beyond the supposed number makes a limit of the rate less likely.
      return 1 + Math.floor(Math.max(0, acceptedInRow - places) / 4);
    },
    changesAt: () => (places === Number.POSITIVE_INFINITY ? undefined : exceedAt),
    sent(inFlight) {
      if (inFlight < places) exceedAt = Math.max(exceedAt, exceedFilledAt);
    },
    accepted(inFlight) {
      if (isProven) places = Math.max(places, inFlight);
      // Answers that are just ending are still counted here, but no longer by the provider.
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
