import { existsSync, rmSync } from "node:fs";
import { errorCode, UserError } from "../lib/index.ts";
import type { SessionPlace } from "./list-sessions.ts";
import { acquireLock, type Lock, lockOwner } from "./lock.ts";
import { sessionPaths } from "./session-paths.ts";

/** Removes a session for good; throws a UserError when somebody works in it. */
export function deleteSession(place: SessionPlace): void {
  const paths = sessionPaths(place);
  const lock = existsSync(paths.directory) ? lockIfPossible(paths.lock, place) : undefined;
  try {
    rmSync(paths.transcript, { force: true });
    rmSync(paths.directory, { recursive: true, force: true });
  } catch (error) {
    throw new UserError(`The session ${place.sessionId} could not be deleted (${errorCode(error)})`, {
      code: "delete_failed",
      cure: `Check who owns ${paths.transcript} and ${paths.directory}.`,
      cause: error,
    });
  } finally {
    lock?.release();
  }
}

/** On a full disk no lock can be written, and that is when people delete sessions. */
function lockIfPossible(path: string, { sessionId }: SessionPlace): Lock | undefined {
  const what = `The session ${sessionId}`;
  try {
    return acquireLock(path, what);
  } catch (error) {
    if (errorCode(error) !== "ENOSPC" && errorCode(error) !== "EDQUOT") throw error;
    if (lockOwner(path) === undefined) return undefined;
    throw new UserError(`${what} is in use`, { code: "session_in_use", cure: "End the program that uses it first." });
  }
}
