import { LONGEST_TIMER_MS } from "../lib/index.ts";

export type LimitedRun<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "timeout" }
  /** `value`: what it said when it was told to end, if it did so at once. */
  | { readonly kind: "cancelled"; readonly value?: T };

export interface RunLimits {
  readonly timeoutMs: number;
  /** How long it may take to say how far it came once it is told to end. */
  readonly abortGraceMs: number;
  readonly signal: AbortSignal;
  /** Everything that runs is in here, so that it can be told to end from elsewhere too. */
  readonly running: Set<(reason: Error) => void>;
}

/**
 * Always settles, whatever the work does: at its end, at the limit, or shortly after an abort. The work's own signal is
 * aborted in the last two cases; what it returns or throws later is dropped.
 */
export function runWithinLimits<T>(
  work: (own: OwnSignal) => Promise<T>,
  { signal, timeoutMs, abortGraceMs, running }: RunLimits,
): Promise<LimitedRun<T>> {
  if (signal.aborted) return Promise.resolve({ kind: "cancelled" });
  return new Promise((resolve) => {
    const own = createOwnSignal();
    let timer = setTimeout(giveUp, Math.min(timeoutMs, LONGEST_TIMER_MS));
    const end = (reason: unknown) => {
      if (own.aborted) return;
      clearTimeout(timer);
      timer = setTimeout(settle, abortGraceMs, { kind: "cancelled" });
      own.abort(reason);
    };
    const onAbort = () => end(signal.reason);

    function settle(outcome: LimitedRun<T>): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      running.delete(end);
      resolve(outcome);
    }
    function giveUp(): void {
      settle({ kind: "timeout" });
      own.abort(new Error("The time limit was reached."));
    }

    signal.addEventListener("abort", onAbort);
    running.add(end);
    start(work, own).then(
      (value) => settle(own.aborted ? { kind: "cancelled", value } : { kind: "done", value }),
      (error: unknown) => settle(own.aborted ? { kind: "cancelled" } : { kind: "failed", error }),
    );
  });
}

async function start<T>(work: (own: OwnSignal) => Promise<T>, own: OwnSignal): Promise<T> {
  return work(own);
}

/** Whether the work is to end. Most work is done before it looks: a real signal is made only for who wants one. */
export interface OwnSignal {
  readonly aborted: boolean;
  readonly signal: AbortSignal;
}

function createOwnSignal(): OwnSignal & { abort(reason: unknown): void } {
  let controller: AbortController | undefined;
  let end: { readonly reason: unknown } | undefined;
  return {
    get aborted() {
      return end !== undefined;
    },
    get signal() {
      controller ??= new AbortController();
      if (end) controller.abort(end.reason);
      return controller.signal;
    },
    abort(reason) {
      end ??= { reason };
      controller?.abort(reason);
    },
  };
}
