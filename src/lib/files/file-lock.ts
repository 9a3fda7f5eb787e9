import { createHash, randomUUID } from "node:crypto";
import {
  constants,
  copyFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { errorCode, UserError } from "../errors.ts";
import {
  mayBeRunning,
  type ProcessIdentity,
  parseProcessIdentity,
  thisProcess,
} from "../processes/process-identity.ts";

export interface FileLock {
  /** True if the previous owner died, or exited without releasing the lock. */
  readonly tookOver: boolean;
  /**
   * Releases the lock. The owner must call this function, because a lock that outlives its process means that the
   * process did not finish its work.
   */
  release(): void;
}

export interface HeldLock {
  /** The owner; undefined if the lock is being written right now, or changes owners too often to tell. */
  readonly owner: ProcessIdentity | undefined;
}

/**
 * Acquires the lock file at `path`, or returns its owner if that process may still be running. Exactly one of several
 * contenders takes over the lock of a dead process: the text of every lock is unique, and a contender must first create
 * the one claim file named after the text that it wants to replace.
 */
export function tryLock(path: string): FileLock | HeldLock {
  const own = `${JSON.stringify({ ...thisProcess(), nonce: randomUUID() })}\n`;
  const temporary = `${path}.${process.pid}.${randomUUID().slice(0, 8)}`;
  try {
    writeFileSync(temporary, own, { flag: "wx", mode: 0o600 });
    for (let attempt = 0; attempt < 100; attempt++) {
      if (createExclusively(temporary, path)) return createLock(path, { own, tookOver: false });
      const takeover = takeOver(path, temporary);
      if (takeover === "done") return createLock(path, { own, tookOver: true });
      if (takeover !== "retry") return takeover;
    }
  } finally {
    unlinkIfExists(temporary);
  }
  return { owner: undefined };
}

/** Returns the owner of a lock; undefined if the lock is free or its owner is dead. */
export function lockOwner(path: string): ProcessIdentity | undefined {
  const text = readLock(path);
  if (text === undefined) return undefined;
  const { owner } = followClaims(path, text);
  return owner !== undefined && mayBeRunning(owner) ? owner : undefined;
}

/** Returns the process that took a lock last and has not released it, even if it is dead. */
export function lastOwner(path: string): ProcessIdentity | undefined {
  const text = readLock(path);
  return text === undefined ? undefined : followClaims(path, text).owner;
}

/**
 * Runs `work` while no other process on this machine does the same for this file, so that the file can be read, changed
 * and written back. Calls within this process take turns. Rejects with a `UserError` that names the owner if another
 * process holds the lock for longer than `waitMs`.
 */
export async function withFileLock<Result>(
  file: string,
  work: () => Promise<Result>,
  { waitMs = 10_000 }: { readonly waitMs?: number } = {},
): Promise<Result> {
  const previous = lastCalls.get(file) ?? Promise.resolve();
  const result = previous.then(() => lockAndRun(file, work, waitMs));
  const settled = result.then(
    () => {},
    () => {},
  );
  lastCalls.set(file, settled);
  try {
    return await result;
  } finally {
    if (lastCalls.get(file) === settled) lastCalls.delete(file);
  }
}

/** The most recent call for each file. The next call for the file waits until this call has settled. */
const lastCalls = new Map<string, Promise<void>>();

async function lockAndRun<Result>(file: string, work: () => Promise<Result>, waitMs: number): Promise<Result> {
  const path = `${file}.lock`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const deadline = performance.now() + waitMs;
  for (;;) {
    const attempt = tryLock(path);
    if ("release" in attempt) {
      try {
        return await work();
      } finally {
        attempt.release();
      }
    }
    if (performance.now() > deadline) throw heldTooLong(file, attempt);
    await wait(2 + Math.random() * 10);
  }
}

function heldTooLong(file: string, { owner }: HeldLock): UserError {
  const holder = owner === undefined ? "other programs" : `process ${owner.pid} on ${owner.host}`;
  const fix = `Try again in a moment. If no such process exists, delete ${file}.lock.`;
  return new UserError(`${file} is being changed by ${holder}`, { code: "in_use", fix });
}

function createLock(path: string, { own, tookOver }: { own: string; tookOver: boolean }): FileLock {
  let released = false;
  return {
    tookOver,
    release() {
      if (!released) removeOwn(path, own);
      released = true;
    },
  };
}

function removeOwn(path: string, own: string): void {
  try {
    if (readLock(path) === own) unlinkIfExists(path);
  } catch {
    // The file remains. When this process has ended, any other process may take over the lock.
  }
}

function takeOver(path: string, temporary: string): "done" | "retry" | HeldLock {
  const dead = readLock(path);
  if (dead === undefined) return "retry";
  const last = followClaims(path, dead);
  if (last.owner === undefined ? isBeingWritten(last.path) : mayBeRunning(last.owner)) return { owner: last.owner };
  const claim = claimPath(path, last.text);
  if (!createExclusively(temporary, claim)) return "retry";
  // Only the holder of the claim on a lock's text may replace that text, and no text is ever written twice. So if the
  // text is still in place, the lock now belongs to this process.
  const ours = readLock(path) === dead;
  if (ours) replace(path, temporary);
  for (const each of [...last.claims, claim]) unlinkIfExists(each);
  return ours ? "done" : "retry";
}

function replace(path: string, temporary: string): void {
  const copy = `${temporary}.new`;
  copyFileSync(temporary, copy);
  renameSync(copy, path);
}

interface LastClaim {
  /** Path of the lock itself, or of the claim of the last contender that died while taking over the lock. */
  readonly path: string;
  readonly text: string;
  readonly owner: ProcessIdentity | undefined;
  readonly claims: readonly string[];
}

/** Follows the chain of claims left by contenders that died while taking over the lock. */
function followClaims(lock: string, first: string): LastClaim {
  const claims: string[] = [];
  for (let path = lock, text = first; ; ) {
    const owner = parseOwner(text);
    if (owner !== undefined && mayBeRunning(owner)) return { path, text, owner, claims };
    const claim = claimPath(lock, text);
    const next = readLock(claim);
    if (next === undefined || claims.includes(claim)) return { path, text, owner, claims };
    claims.push(claim);
    path = claim;
    text = next;
  }
}

/** Returns the path of the claim that allows its holder to replace a lock whose content is `text`. */
export function claimPath(path: string, text: string): string {
  return `${path}.after-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}

/**
 * Creates a hard link, so that the file appears with its whole text or not at all. Creates a new file where hard links
 * are not supported.
 */
function createExclusively(temporary: string, path: string): boolean {
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"].includes(errorCode(error) ?? "")) throw error;
  }
  try {
    copyFileSync(temporary, path, constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** Returns true if the lock was written just now. An older lock without an owner was emptied by a power cut. */
function isBeingWritten(path: string): boolean {
  const writtenAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return writtenAt !== undefined && Math.abs(Date.now() - writtenAt) < 2_000;
}

function readLock(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

function parseOwner(text: string): ProcessIdentity | undefined {
  try {
    return parseProcessIdentity(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function unlinkIfExists(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}
