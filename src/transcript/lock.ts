import { createHash, randomUUID } from "node:crypto";
import { constants, copyFileSync, linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { bootId, errorCode, processStartTime, UserError } from "../lib/index.ts";

export interface Lock {
  /** The owner before died or left without giving it up. */
  readonly tookOver: boolean;
  release(): void;
}

export interface LockOwner {
  readonly host: string;
  readonly boot: string | undefined;
  readonly pid: number;
  /** With the pid it names one process; a pid alone is used again. */
  readonly startTime: number | undefined;
}

/**
 * Takes the lock at `path` or throws a UserError that names its owner.
 * A lock whose owner is dead is taken over by exactly one of those who try: each lock's text is unique, and who wants to
 * replace it must first create the one claim file named after that text.
 */
export function acquireLock(path: string, what: string): Lock {
  const own = `${JSON.stringify({ ...thisProcess(), nonce: randomUUID() })}\n`;
  const temporary = `${path}.${process.pid}.${randomUUID().slice(0, 8)}`;
  writeFileSync(temporary, own, { flag: "wx", mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 100; attempt++) {
      if (createExclusively(temporary, path)) return held(path, { own, tookOver: false });
      if (takeOver({ path, temporary, what })) return held(path, { own, tookOver: true });
    }
  } finally {
    unlinkIfThere(temporary);
  }
  throw new UserError(`The lock of ${what} changes all the time (${path})`, {
    code: "session_in_use",
    cure: "Wait until the other programs are done with it, then try again.",
  });
}

/** Who holds the lock now; undefined when it is free or its owner is dead. */
export function lockOwner(path: string): LockOwner | undefined {
  const text = readLock(path);
  if (text === undefined) return undefined;
  const owner = endOfChain(path, text).owner;
  return owner !== undefined && mayBeAlive(owner) ? owner : undefined;
}

/** Given up by who closes it, not when the process exits: what it leaves behind is then known to be left behind. */
function held(path: string, { own, tookOver }: { own: string; tookOver: boolean }): Lock {
  let released = false;
  return {
    tookOver,
    release() {
      if (!released) remove(path, own);
      released = true;
    },
  };
}

function remove(path: string, own: string): void {
  try {
    if (readLock(path) === own) unlinkIfThere(path);
  } catch {
    // It stays behind as a dead owner's lock, which anyone may take over.
  }
}

/** False: look again from the start. */
function takeOver({ path, temporary, what }: { path: string; temporary: string; what: string }): boolean {
  const dead = readLock(path);
  if (dead === undefined) return false;
  const end = endOfChain(path, dead);
  if (end.owner !== undefined && mayBeAlive(end.owner)) throw inUse(end.owner, { path, what });
  const claim = claimPath(path, end.text);
  if (!createExclusively(temporary, claim)) return false;
  // Only who holds the claim on a text may replace it, and a text never comes back: if it still stands, it is ours.
  const ours = readLock(path) === dead;
  if (ours) replace(path, temporary);
  for (const each of [...end.claims, claim]) unlinkIfThere(each);
  return ours;
}

function replace(path: string, temporary: string): void {
  const copy = `${temporary}.new`;
  copyFileSync(temporary, copy);
  renameSync(copy, path);
}

/** Who died while taking over left a claim, which is followed like the lock itself. */
function endOfChain(path: string, first: string): { text: string; owner: LockOwner | undefined; claims: string[] } {
  const claims: string[] = [];
  for (let text = first; ; ) {
    const owner = parseOwner(text);
    if (owner !== undefined && mayBeAlive(owner)) return { text, owner, claims };
    const claim = claimPath(path, text);
    const next = readLock(claim);
    if (next === undefined || claims.includes(claim)) return { text, owner, claims };
    claims.push(claim);
    text = next;
  }
}

/** Named after the text that is to be replaced. */
export function claimPath(path: string, text: string): string {
  return `${path}.after-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}

/** A link appears with its whole text or not at all, so nobody ever sees a lock half written. */
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

function readLock(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/** `rmSync` would cost the start of every session the loading of a module. */
function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

function parseOwner(text: string): LockOwner | undefined {
  try {
    const value: Partial<LockOwner> | null = JSON.parse(text);
    if (typeof value?.host !== "string" || !Number.isInteger(value.pid) || (value.pid ?? 0) <= 0) return undefined;
    return { host: value.host, boot: value.boot, pid: value.pid as number, startTime: value.startTime };
  } catch {
    // A power cut can leave an empty lock; then nobody holds it.
    return undefined;
  }
}

function thisProcess(): LockOwner {
  return { host: hostname(), boot: bootId(), pid: process.pid, startTime: processStartTime(process.pid) };
}

function mayBeAlive(owner: LockOwner): boolean {
  if (owner.host !== hostname()) return true;
  const boot = bootId();
  if (owner.boot !== undefined && boot !== undefined && owner.boot !== boot) return false;
  const startTime = processStartTime(owner.pid);
  if (owner.startTime !== undefined && startTime !== undefined) return owner.startTime === startTime;
  try {
    process.kill(owner.pid, 0);
    // Where start times can be read, a pid without one is a zombie.
    return processStartTime(process.pid) === undefined;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

function inUse(owner: LockOwner, { path, what }: { path: string; what: string }): UserError {
  if (owner.host !== hostname()) {
    return new UserError(`${what} is in use by process ${owner.pid} on ${owner.host}`, {
      code: "session_in_use",
      cure: `End it there. If that machine no longer runs it, delete ${path} and try again.`,
    });
  }
  return new UserError(`${what} is in use by process ${owner.pid}`, {
    code: "session_in_use",
    cure: `End that process (kill ${owner.pid}) or start a new session.`,
  });
}
