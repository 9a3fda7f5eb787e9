import type { EventOf } from "../../protocol/index.ts";
import type { RunHost } from "./run-host.ts";

/** Time after which a delay is recorded. Shorter ones would only make the transcript longer. */
const RECORDED_MS = 500;

/**
 * Notes that a run has to wait. If the wait is not short, its start and its end are recorded. Call the returned function
 * when the wait is over.
 */
export function beginDelay(host: Pick<RunHost, "record">, by: EventOf<"run.delayed">["by"]): () => Promise<void> {
  let recorded: Promise<void> | undefined;
  const timer = setTimeout(() => {
    recorded = host.record([{ type: "run.delayed", by }]);
    // If recording fails, the function that ends the delay throws the error.
    recorded.catch(() => undefined);
  }, RECORDED_MS).unref();
  return async () => {
    clearTimeout(timer);
    if (recorded === undefined) return;
    await recorded;
    await host.record([{ type: "run.continued" }]);
  };
}

/** Performs a step of a run that calls `onWait` if it has to wait. From then on, the run's clocks are paused. */
export async function whileDelayed<T>(
  host: Pick<RunHost, "record" | "clocks">,
  by: EventOf<"run.delayed">["by"],
  step: (onWait: () => void) => Promise<T>,
): Promise<T> {
  let resume: (() => void) | undefined;
  let endDelay: (() => Promise<void>) | undefined;
  try {
    return await step(() => {
      resume = host.clocks.pause();
      endDelay = beginDelay(host, by);
    });
  } finally {
    resume?.();
    await endDelay?.();
  }
}
