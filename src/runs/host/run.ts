import { setMaxListeners } from "node:events";
import { createChannel } from "../../lib/index.ts";
import type { LiveEvent, RunId, RunResult, RunUpdate } from "../../protocol/index.ts";

export type StopCause = "interrupted" | "stopped" | "timeout" | "stall" | "budget";

/** One activation of an agent: what happens, in order, and one result. Both always settle. */
export interface Run extends AsyncIterable<RunUpdate> {
  readonly runId: RunId;
  readonly result: Promise<RunResult>;
  /** Ends it at the next possible moment, with what was done so far. */
  stop(cause: StopCause): void;
}

/** A reader who fell this far behind misses live events; recorded lines are never dropped. */
const LIVE_BACKLOG = 2000;

export interface RunOutlet {
  emit(update: RunUpdate): void;
  readonly signal: AbortSignal;
  /** Ends the run from within. */
  stop(cause: StopCause): void;
  /** Why the signal fired. */
  cause(): StopCause;
}

/** Gives the producer an outlet and the world a run. With a listener there is nothing to iterate. */
export function createRun(
  runId: RunId,
  produce: (outlet: RunOutlet) => Promise<RunResult>,
  listener?: (update: RunUpdate) => void,
): Run {
  const updates = createChannel<RunUpdate>();
  const abort = new AbortController();
  // Every call of an answer listens, and there may be hundreds.
  setMaxListeners(0, abort.signal);
  let stopCause: StopCause = "interrupted";
  const stop = (cause: StopCause): void => {
    if (abort.signal.aborted) return;
    stopCause = cause;
    abort.abort();
  };
  const outlet: RunOutlet = {
    emit: (update) => {
      if (listener) return listener(update);
      if (updates.size > LIVE_BACKLOG && isLive(update)) return;
      updates.push(update);
    },
    signal: abort.signal,
    stop,
    cause: () => stopCause,
  };
  const result = produce(outlet).finally(() => updates.close());
  return {
    runId,
    result,
    stop,
    [Symbol.asyncIterator]: () => updates[Symbol.asyncIterator](),
  };
}

function isLive(update: RunUpdate): update is LiveEvent {
  return !("id" in (update.type === "subagent.event" ? update.event : update));
}
