import { setTimeout as wait } from "node:timers/promises";
import { describeError, errorCode, UserError } from "../lib/index.ts";

export interface Trouble {
  readonly code: string;
  /** What is wrong and what to do about it. */
  readonly message: string;
}

/** Waits out a full disk. One for each session, so that its people hear of a trouble once, not once for each agent. */
export interface Patience {
  /** Runs the action until it succeeds, at once for the first time; rejects with a UserError when waiting can't help. */
  until<T>(action: () => T | Promise<T>): Promise<T>;
  isWorthWaiting(error: unknown): boolean;
  /** Whoever still waits gives up. */
  end(): void;
}

export interface PatienceOptions {
  readonly onTrouble?: ((trouble: Trouble) => void) | undefined;
  readonly firstWaitMs?: number | undefined;
}

export function createPatience({ onTrouble, firstWaitMs = 50 }: PatienceOptions): Patience {
  const ending = new AbortController();
  let told = false;

  async function until<T>(action: () => T | Promise<T>): Promise<T> {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      try {
        const result = await action();
        told = false;
        return result;
      } catch (error) {
        if (!isWorthWaiting(error) || ending.signal.aborted) throw asUserError(error);
        tell(error);
        await wait(waitMs, undefined, { signal: ending.signal }).catch(() => {
          throw asUserError(error);
        });
      }
    }
  }

  function tell(error: unknown): void {
    if (told) return;
    told = true;
    const message = `${describeError(causeOf(error))}. Waiting; nothing recorded is lost, and it goes on by itself.`;
    onTrouble?.({ code: errorCode(error) ?? "unknown", message });
  }

  return { until, isWorthWaiting, end: () => ending.abort() };
}

const longestWaitMs = 5_000;
const passing = new Set(["ENOSPC", "EDQUOT", "EMFILE", "ENFILE"]);

function isWorthWaiting(error: unknown): boolean {
  return passing.has(errorCode(error) ?? "");
}

/** What the system refuses is for a person to act on; anything else is a bug and stays what it is. */
export function asUserError(error: unknown): unknown {
  if (error instanceof UserError || errorCode(error) === undefined) return error;
  return new UserError(`The transcript can't be used: ${describeError(causeOf(error))}.`, {
    code: "journal_failed",
    cure: "What was recorded so far is kept; resume the session once this is put right.",
    cause: error,
  });
}

/** The system's own error has the path and says it in fewer words. */
function causeOf(error: unknown): unknown {
  const inner = error instanceof Error ? error.cause : undefined;
  return errorCode(inner) === undefined ? error : inner;
}
