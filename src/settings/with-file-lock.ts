import { createHash } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { bootId, createId, errorCode, processStartTime, UserError } from "../lib/index.ts";

export interface LockOptions {
  /** How long to wait for the current owner. */
  readonly timeoutMs?: number;
}

/**
 * Runs `work` while holding the lock of a file, so that only one process at a time reads, changes and writes it. The lock of
 * a dead process is taken over. Rejects with a `UserError` that names the owner if the lock is held for too long.
 */
export async function withFileLock<Result>(
  file: string,
  work: () => Promise<Result>,
  options: LockOptions = {},
): Promise<Result> {
  const before = queues.get(file);
  const own = (before ?? Promise.resolve()).then(() => lockAndWork(file, work, options));
  const settled = own.then(
    () => {},
    () => {},
  );
  queues.set(file, settled);
  try {
    return await own;
  } finally {
    if (queues.get(file) === settled) queues.delete(file);
  }
}

/** Last waiter in this process for each file. Only one at a time tries to take the lock. */
const queues = new Map<string, Promise<void>>();

async function lockAndWork<Result>(
  file: string,
  work: () => Promise<Result>,
  { timeoutMs = 10_000 }: LockOptions,
): Promise<Result> {
  const path = `${file}.lock`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    const attempt = tryLock(path);
    if (attempt !== undefined && "release" in attempt) {
      try {
        return await work();
      } finally {
        attempt.release();
      }
    }
    if (performance.now() > giveUpAt) throw heldTooLong(file, attempt?.owner);
    await wait(2 + Math.random() * 10);
  }
}

interface Owner {
  readonly host: string;
  readonly boot: string | undefined;
  readonly pid: number;
  /** Identifies the process together with the pid, which may be reused. */
  readonly startTime: number | undefined;
}

type Attempt = { release(): void } | { readonly owner: Owner } | undefined;

/** Returns undefined if the lock changed in the meantime and must be tried again. */
function tryLock(path: string): Attempt {
  const own = ownText();
  if (create(path, own)) return { release: () => removeIf(path, own) };
  const text = readText(path);
  if (text === undefined) return undefined;
  const owner = ownerOf(text);
  if (owner !== undefined && mayBeAlive(owner)) return { owner };
  if (owner === undefined && isFresh(path)) return undefined;
  // To remove the lock of a dead process, a process must hold a lock named after its text. Texts are unique, so a slower
  // process finds another text or none, and never removes the lock of a running process.
  const claim = tryLock(`${path}.${createHash("sha256").update(text).digest("hex").slice(0, 16)}`);
  if (claim === undefined || !("release" in claim)) return claim;
  removeIf(path, text);
  claim.release();
  return undefined;
}

function ownText(): string {
  const owner: Owner = {
    host: hostname(),
    boot: bootId(),
    pid: process.pid,
    startTime: processStartTime(process.pid),
  };
  return `${JSON.stringify({ ...owner, nonce: createId() })}\n`;
}

/** Creates the file by a hard link, so that it never appears half-written; without link support, as a new file. */
function create(path: string, text: string): boolean {
  const temporary = `${path}.${process.pid}-${createId()}`;
  try {
    writeFileSync(temporary, text, { flag: "wx", mode: 0o600 });
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"].includes(errorCode(error) ?? "")) throw error;
    return createNew(path, text);
  } finally {
    unlinkIfThere(temporary);
  }
}

function createNew(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function ownerOf(text: string): Owner | undefined {
  try {
    const owner = JSON.parse(text) as Owner | null;
    return typeof owner?.pid === "number" && typeof owner.host === "string" ? owner : undefined;
  } catch {
    return undefined;
  }
}

/** A process on another machine counts as running, because that can't be checked. */
function mayBeAlive({ host, boot, pid, startTime }: Owner): boolean {
  if (host !== hostname()) return true;
  if (boot !== bootId()) return false;
  if (startTime !== undefined) return processStartTime(pid) === startTime;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

/** A lock without an owner is being written right now, or is left from a crash. */
function isFresh(path: string): boolean {
  const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return written !== undefined && Date.now() - written < 2_000;
}

function removeIf(path: string, text: string): void {
  if (readText(path) === text) unlinkIfThere(path);
}

function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

function heldTooLong(file: string, owner: Owner | undefined): UserError {
  const who = owner === undefined ? "other programs" : `process ${owner.pid} on ${owner.host}`;
  const cure = `Try again when that is done. If there is no such process, delete ${file}.lock.`;
  return new UserError(`${file} is being changed by ${who}`, { code: "in_use", cure });
}
