/**
 * Learns how many requests a provider accepts in a period of time. A period lasts from one refusal to the next. As many
 * requests as were accepted in one period may be sent at once in the next; after that, single requests test whether the
 * provider accepts more. Once the limit is known, this costs one refusal per period.
 */
export interface LearnedRate {
  /** Number of requests that may be sent at once in a period; infinite before the first refusal. */
  perPeriod(): number;
  /** Returns whether one more request stays within `perPeriod`. */
  hasRoom(): boolean;
  sent(): void;
  /**
   * Called for the first refusal of a period, which ends the period. `inFlight` does not include the refused request.
   */
  refused(refusal: { readonly inFlight: number; readonly now: number; readonly waitMs: number }): void;
  /** Called for each further refusal of a request that was sent before the period ended. */
  refusedToo(): void;
  /**
   * If the provider refused nothing during a whole period, starts a new period and returns true. `undecided` is the
   * number of requests that have been neither accepted nor refused yet. While something else limits the number
   * of requests (`isCapped`), the period continues, because the provider might refuse more requests than these.
   */
  turn(state: { readonly now: number; readonly undecided: number; readonly isCapped: boolean }): boolean;
  forget(): void;
}

/** Longest time between two refusals that is treated as a period. */
const longestPeriodMs = 60_000;

export function createLearnedRate(): LearnedRate {
  let learned = Number.POSITIVE_INFINITY;
  /**
   * False after the first refusal, because the requests before it may have been accepted in two of the provider's
   * periods.
   */
  let isMeasured = false;
  let sent = 0;
  let wasCapped = false;
  /** Number of requests accepted in the previous period, with bounds on what can be learned from it. */
  let last = { accepted: 0, least: 0, most: 0 };
  let refusedAt = 0;
  /** Length of a period: longer than the provider's own period, no matter when that begins. */
  let periodMs = 0;
  let endsAt = Number.POSITIVE_INFINITY;

  function learn(): void {
    // If nothing was accepted, the wait was too short, which says nothing about the number of requests.
    learned = last.accepted > 0 ? Math.min(last.accepted, last.most) : last.least;
  }

  function begin(now: number, count: number): void {
    endsAt = now + periodMs;
    sent = count;
    wasCapped = false;
  }

  return {
    perPeriod: () => learned,
    hasRoom: () => sent < (isMeasured ? learned : learned / 2),
    sent() {
      sent += 1;
    },
    refused({ inFlight, now, waitMs }) {
      const isFirst = learned === Number.POSITIVE_INFINITY;
      const accepted = isFirst ? inFlight : sent - 1;
      if (isFirst) last = { accepted, least: 0, most: accepted };
      else last = { accepted, least: learned, most: wasCapped ? learned : learned + 1 };
      if (accepted > 0 || isFirst) {
        isMeasured = !isFirst;
        periodMs = isFirst ? 2 * waitMs : Math.max(2 * waitMs, 1.5 * Math.min(now - refusedAt, longestPeriodMs));
        refusedAt = now;
      }
      learn();
      begin(now, 0);
    },
    refusedToo() {
      last.accepted -= 1;
      learn();
    },
    turn({ now, undecided, isCapped }) {
      if (isCapped) {
        endsAt = Math.max(endsAt, now + periodMs);
        wasCapped = true;
      }
      if (now < endsAt) return false;
      const accepted = sent - undecided;
      const isLongAgo = now >= refusedAt + longestPeriodMs;
      if (accepted > learned && !wasCapped) learned = isMeasured && !isLongAgo ? learned + 1 : accepted * 2;
      last = { accepted: learned, least: learned, most: learned };
      begin(now, undecided);
      return true;
    },
    forget() {
      learned = Number.POSITIVE_INFINITY;
      begin(Number.POSITIVE_INFINITY, 0);
    },
  };
}
