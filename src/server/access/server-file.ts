import { chmodSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { checkHome } from "../../app/index.ts";
import { errorCode, type FileLock, tryLock, UserError, writeAtomically } from "../../lib/index.ts";
import { createSecret } from "./tokens.ts";

/** Content of `server.json` in the state directory, for clients on the same machine. */
export interface ServerFile {
  readonly url: string;
  readonly pid: number;
  /** Token with the `read`, `prompt` and `admin` scopes. */
  readonly token: string;
}

/** The part of the state directory that belongs to the server. */
export interface ServerPlace {
  /** Token for workers, which stays the same when the server is restarted. */
  readonly workerToken: string;
  readonly path: string;
  publish(file: ServerFile): Promise<void>;
  /** Removes the file, so that clients no longer look for this server. Never throws. */
  leave(): void;
}

/** Claims the state directory. Throws a `UserError` if it can't be written to, or if another server uses it. */
export async function claimPlace(home: string): Promise<ServerPlace> {
  const check = checkHome(home);
  if (!check.ok) throw new UserError(check.message, { code: "home", exitCode: 2 });
  const lock = claim(home);
  try {
    return { ...place(home, lock), workerToken: await keptToken(join(home, "worker-token")) };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function place(home: string, lock: FileLock): Omit<ServerPlace, "workerToken"> {
  const path = join(home, "server.json");
  return {
    path,
    publish: (file) => writePrivate(path, `${JSON.stringify(file, null, 2)}\n`),
    leave: () => {
      try {
        rmSync(path, { force: true });
      } catch {
        // The state directory has become read-only, but its files may still be writable.
        orNothing(() => truncateSync(path));
      }
      orNothing(() => lock.release());
    },
  };
}

function orNothing(action: () => void): void {
  try {
    action();
  } catch {
    // The next server replaces what is left.
  }
}

function claim(home: string): FileLock {
  const attempt = tryLock(join(home, "server.lock"));
  if ("release" in attempt) return attempt;
  const owner = attempt.owner === undefined ? "Another process" : `Process ${attempt.owner.pid}`;
  throw new UserError(`${owner} already serves the sessions in this state directory`, {
    code: "server_running",
    fix: "Stop it first, or set RETINUE_HOME to another directory.",
    exitCode: 2,
  });
}

async function keptToken(path: string): Promise<string> {
  const known = readIfPresent(path).trim();
  if (/^[\w-]{43}$/.test(known)) {
    chmodSync(path, 0o600);
    return known;
  }
  const token = createSecret();
  await writePrivate(path, `${token}\n`);
  return token;
}

function readIfPresent(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "";
    throw error;
  }
}

async function writePrivate(path: string, text: string): Promise<void> {
  // Otherwise, an existing file would keep its mode.
  rmSync(path, { force: true });
  await writeAtomically(path, text, { mode: 0o600 });
}
