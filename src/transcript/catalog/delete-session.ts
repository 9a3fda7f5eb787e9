import { existsSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { deleteTreeSync, errorCode, type FileLock, lockOwner, UserError } from "../../lib/index.ts";
import { lockSession } from "../session-lock.ts";
import { isSessionId, listNames, projectsDirectory, type SessionPaths, sessionPaths } from "../session-paths.ts";
import type { SessionPlace } from "./list-sessions.ts";

/**
 * Deletes a session permanently. Throws a UserError if the session is in use. Starts with two renames, so that if the
 * process dies midway, the session is either complete, or invisible and removed by the next clean-up.
 */
export function deleteSession(place: SessionPlace): void {
  const paths = sessionPaths(place);
  const lock = existsSync(paths.directory) ? lockIfPossible(paths.lock, place) : undefined;
  try {
    remove(paths);
  } catch (error) {
    throw new UserError(`The session ${place.sessionId} could not be deleted (${errorCode(error)})`, {
      code: "delete_failed",
      fix: `Check the owner and the mode of ${paths.transcript} and ${paths.directory}.`,
      cause: error,
    });
  } finally {
    lock?.release();
  }
}

/** Removes the remains of sessions whose deletion was interrupted because the process died. */
export function sweepDeleted(place: Omit<SessionPlace, "sessionId">): void {
  const directory = join(projectsDirectory(place.home), place.project);
  for (const name of listNames(directory)) {
    const isLeft =
      name.startsWith(PREFIX) || (isSessionId(name) && existsSync(sessionPaths({ ...place, sessionId: name }).deleted));
    if (isLeft) deleteTreeSync(join(directory, name));
  }
}

/** Prefix of deleted sessions, with which no session id can start. */
const PREFIX = ".deleted-";

function remove({ transcript, directory, deleted, projectDirectory }: SessionPaths): void {
  if (!existsSync(directory)) {
    rmSync(transcript, { force: true });
    return;
  }
  if (existsSync(transcript)) renameSync(transcript, deleted);
  const gone = join(projectDirectory, `${PREFIX}${basename(directory)}`);
  deleteTreeSync(gone);
  renameSync(directory, gone);
  deleteTreeSync(gone);
}

/**
 * Locks a session. Returns undefined if the disk is full and no lock can be written, because a full disk is a common
 * reason to delete sessions.
 */
function lockIfPossible(path: string, { sessionId }: SessionPlace): FileLock | undefined {
  try {
    return lockSession(path, sessionId);
  } catch (error) {
    if (errorCode(error) !== "ENOSPC" && errorCode(error) !== "EDQUOT") throw error;
    if (lockOwner(path) === undefined) return undefined;
    throw new UserError(`The session ${sessionId} is in use`, {
      code: "session_in_use",
      fix: "Stop the program that uses it first.",
    });
  }
}
