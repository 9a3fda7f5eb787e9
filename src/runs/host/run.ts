import { setMaxListeners } from "node:events";
import { createChannel } from "../../lib/index.ts";
import type { LiveEvent, RunId, RunResult, RunUpdate } from "../../protocol/index.ts";

/**
 * Why a run is stopped. A parked run leaves its pending calls open, so that it can continue later.
 * `stopped_by_person`: the user, or the program, stopped this agent.
 */
export type StopCause = "interrupted" | "stopped" | "stopped_by_person" | "parked" | "timeout" | "stall" | "budget";

/**
 * One activation of an agent: a sequence of updates, and one result. The sequence always ends, and the result always
 * settles.
 */
export interface Run extends AsyncIterable<RunUpdate> {
  readonly runId: RunId;
  readonly result: Promise<RunResult>;
  /** Ends the run as soon as possible. The work done so far is kept. */
  stop(cause: StopCause): void;
}

/** Number of unread updates after which a slow reader misses live events. Recorded lines are never dropped. */
const LIVE_BACKLOG = 2000;
/** Maximum timer interval in milliseconds. */
const LONGEST_INTERVAL = 2 ** 31 - 1;

export interface RunOutlet {
  emit(update: RunUpdate): void;
  readonly signal: AbortSignal;
  /** Ends the run from within. */
  stop(cause: StopCause): void;
  /** Returns why the run was stopped. */
  cause(): StopCause;
}

/**
 * Creates a run from the function that performs it. If there is a listener, updates go to the listener instead of the
 * iterator.
 */
export function createRun(
  runId: RunId,
  produce: (outlet: RunOutlet) => Promise<RunResult>,
  listener?: (update: RunUpdate) => void,
): Run {
  const updates = createChannel<RunUpdate>();
  const abort = new AbortController();
  // Every call in a response adds a listener, and a response can have hundreds of calls.
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
  // Keeps the process alive if nothing else does, for example while a run in a program is waiting for approval.
  const alive = setInterval(() => {}, LONGEST_INTERVAL);
  const result = produce(outlet).finally(() => {
    clearInterval(alive);
    updates.close();
  });
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
