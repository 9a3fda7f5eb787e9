import { setTimeout as wait } from "node:timers/promises";
import { describeError, errorCode, UserError } from "../../lib/index.ts";

export interface Trouble {
  readonly code: string;
  /** Says what is wrong and what to do about it. */
  readonly message: string;
}

/** Retries writes while the disk is full. Each session has one, so that it reports a problem once, not once per agent. */
export interface DiskRetry {
  /** Runs the action until it succeeds; rejects with a UserError if the error does not pass by waiting. */
  run<T>(action: () => T | Promise<T>): Promise<T>;
  isTransient(error: unknown): boolean;
  /** Makes all waiting actions reject. */
  stop(): void;
}

export interface DiskRetryOptions {
  readonly onTrouble?: ((trouble: Trouble) => void) | undefined;
  readonly firstWaitMs?: number | undefined;
}

export function createDiskRetry({ onTrouble, firstWaitMs = 50 }: DiskRetryOptions): DiskRetry {
  const stopped = new AbortController();
  let reported = false;

  async function run<T>(action: () => T | Promise<T>): Promise<T> {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      try {
        const result = await action();
        reported = false;
        return result;
      } catch (error) {
        if (!isTransient(error) || stopped.signal.aborted) throw asUserError(error);
        report(error);
        await wait(waitMs, undefined, { signal: stopped.signal }).catch(() => {
          throw asUserError(error);
        });
      }
    }
  }

  function report(error: unknown): void {
    if (reported) return;
    reported = true;
    const message = `${describeError(causeOf(error))}. Waiting; nothing recorded is lost, and it goes on by itself.`;
    onTrouble?.({ code: errorCode(error) ?? "unknown", message });
  }

  return { run, isTransient, stop: () => stopped.abort() };
}

const longestWaitMs = 5_000;
const transientCodes = new Set(["ENOSPC", "EDQUOT", "EMFILE", "ENFILE"]);

function isTransient(error: unknown): boolean {
  return transientCodes.has(errorCode(error) ?? "");
}

/** Turns an error of the system into one that the user can act on. Any other error is a bug and stays as it is. */
export function asUserError(error: unknown): unknown {
  if (error instanceof UserError || errorCode(error) === undefined) return error;
  return new UserError(`The transcript can't be used: ${describeError(causeOf(error))}.`, {
    code: "journal_failed",
    cure: "What was recorded so far is kept; resume the session once this is put right.",
    cause: error,
  });
}

/** Prefers the system's own error, which has the path and is shorter. */
function causeOf(error: unknown): unknown {
  const inner = error instanceof Error ? error.cause : undefined;
  return errorCode(inner) === undefined ? error : inner;
}
