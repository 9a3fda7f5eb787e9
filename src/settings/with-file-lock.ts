import { createHash } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { bootId, createId, errorCode, processStartTime, UserError } from "../lib/index.ts";

export interface LockOptions {
  /** How long somebody else may hold it before we give up. */
  readonly patienceMs?: number;
}

/**
 * One at a time, over all processes of this machine: reads a file, changes it and writes it back while nobody else does.
 * Held for as long as `work` takes. The lock of a process that died is taken over. Rejects with a `UserError` that names
 * the owner when it is held for too long.
 */
export async function withFileLock<Result>(
  file: string,
  work: () => Promise<Result>,
  options: LockOptions = {},
): Promise<Result> {
  const before = lastOf.get(file);
  const own = (before ?? Promise.resolve()).then(() => lockAndWork(file, work, options));
  const settled = own.then(
    () => {},
    () => {},
  );
  lastOf.set(file, settled);
  try {
    return await own;
  } finally {
    if (lastOf.get(file) === settled) lastOf.delete(file);
  }
}

/** Of each file that somebody in this process wants: who came last. Only one of them at a time asks the file system. */
const lastOf = new Map<string, Promise<void>>();

async function lockAndWork<Result>(
  file: string,
  work: () => Promise<Result>,
  { patienceMs = 10_000 }: LockOptions,
): Promise<Result> {
  const path = `${file}.lock`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const giveUpAt = performance.now() + patienceMs;
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
  /** With the pid it names one process; a pid alone is used again. */
  readonly startTime: number | undefined;
}

type Attempt = { release(): void } | { readonly owner: Owner } | undefined;

/** Undefined: something changed meanwhile; look again. */
function tryLock(path: string): Attempt {
  const own = ownText();
  if (create(path, own)) return { release: () => removeIf(path, own) };
  const text = readText(path);
  if (text === undefined) return undefined;
  const owner = ownerOf(text);
  if (owner !== undefined && mayBeAlive(owner)) return { owner };
  if (owner === undefined && isFresh(path)) return undefined;
  // Only who holds the lock named after a dead one's text may remove that: a text never comes back, so whoever was slower
  // finds another text or none, and never removes the lock of a living process.
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

/** By a link, since that appears with its whole text or not at all; where there are no links, as a new file. */
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

/** Of another machine we can't know, so it counts as alive. */
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

/** Without an owner it is being written at this moment, or was cut short by a crash long ago. */
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
