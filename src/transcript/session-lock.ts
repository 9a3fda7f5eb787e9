import { hostname } from "node:os";
import { type FileLock, type ProcessIdentity, tryLock, UserError } from "../lib/index.ts";
import type { SessionId } from "../protocol/index.ts";

/**
 * Locks a session with the lock file at `path`. Throws a `UserError` that names the process if the session is in use.
 */
export function lockSession(path: string, sessionId: SessionId): FileLock {
  const attempt = tryLock(path);
  if ("release" in attempt) return attempt;
  if (attempt.owner !== undefined) throw inUse(attempt.owner, { path, sessionId });
  throw new UserError(`The lock for the session ${sessionId} is being changed by other programs (${path})`, {
    code: "session_in_use",
    fix: "Wait until they are done, then try again.",
  });
}

function inUse({ host, pid }: ProcessIdentity, { path, sessionId }: { path: string; sessionId: SessionId }): UserError {
  if (host !== hostname()) {
    return new UserError(`The session ${sessionId} is in use by process ${pid} on ${host}`, {
      code: "session_in_use",
      fix: `Stop the process there. If it is no longer running, delete ${path} and try again.`,
    });
  }
  if (pid === process.pid)
    return new UserError(`The session ${sessionId} is already open in this process`, {
      code: "session_in_use",
      fix: "Close it first, with `await session.close()`.",
    });
  return new UserError(`The session ${sessionId} is in use by process ${pid}`, {
    code: "session_in_use",
    fix: `To follow it: "retinue attach ${sessionId}". To send it a prompt: "retinue message ${sessionId} TEXT". If that process is a server, add --server URL.`,
  });
}
