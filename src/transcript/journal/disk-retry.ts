import { setTimeout as wait } from "node:timers/promises";
import { AppendError, describeError, errorCode, UserError } from "../../lib/index.ts";

export interface Trouble {
  readonly code: string;
  /** Tells the user what is wrong and what to do about it. */
  readonly message: string;
}

/**
 * Retries writes while the disk is full. A session has only one instance, so that a problem is reported once and not
 * once per agent.
 */
export interface DiskRetry {
  /** Runs the action until it succeeds. Rejects with a UserError if waiting can't resolve the error. */
  run<T>(action: () => T | Promise<T>): Promise<T>;
  isTransient(error: unknown): boolean;
  /** Rejects all waiting actions. */
  stop(): void;
}

export interface DiskRetryOptions {
  readonly onTrouble?: ((trouble: Trouble) => void) | undefined;
  readonly firstWaitMs?: number | undefined;
  /** Ends the wait for disk space. From then on, writes to a full disk reject immediately. */
  readonly stopWaiting?: AbortSignal | undefined;
}

export function createDiskRetry({ onTrouble, firstWaitMs = 50, stopWaiting }: DiskRetryOptions): DiskRetry {
  const stopped = new AbortController();
  const stoppedWaiting = stopWaiting ? AbortSignal.any([stopped.signal, stopWaiting]) : stopped.signal;
  let reported = false;

  async function run<T>(action: () => T | Promise<T>): Promise<T> {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      try {
        const result = await action();
        reported = false;
        return result;
      } catch (error) {
        const signal = isFull(error) ? stoppedWaiting : stopped.signal;
        if (!isTransient(error) || signal.aborted) throw asUserError(error);
        report(error);
        await wait(waitMs, undefined, { signal }).catch(() => {
          throw asUserError(error);
        });
      }
    }
  }

  function report(error: unknown): void {
    if (reported) return;
    reported = true;
    const message = `${describeError(causeOf(error))}. Nothing recorded is lost. Retinue will wait and continue automatically.`;
    onTrouble?.({ code: errorCode(error) ?? "unknown", message });
  }

  return { run, isTransient, stop: () => stopped.abort() };
}

const longestWaitMs = 5_000;
const fullCodes: readonly (string | undefined)[] = ["ENOSPC", "EDQUOT"];
const transientCodes: readonly (string | undefined)[] = [...fullCodes, "EMFILE", "ENFILE"];

function isTransient(error: unknown): boolean {
  return transientCodes.includes(errorCode(error));
}

function isFull(error: unknown): boolean {
  return fullCodes.includes(errorCode(error));
}

/** Converts a system error to an error that the user can act on. Any other error is a bug and is returned unchanged. */
export function asUserError(error: unknown): unknown {
  if (error instanceof UserError || errorCode(error) === undefined) return error;
  return new UserError(`The transcript can't be written: ${describeError(causeOf(error))}.`, {
    code: "journal_failed",
    fix: "Everything recorded so far is kept. Resume the session when this is fixed.",
    cause: error,
  });
}

/**
 * Returns the original system error if there is one, because its message is shorter. For a failed append, adds the
 * path.
 */
function causeOf(error: unknown): unknown {
  const inner = error instanceof Error ? error.cause : undefined;
  const code = errorCode(inner);
  if (code === undefined) return error;
  return error instanceof AppendError ? { code, path: error.path, message: describeError(inner) } : inner;
}
