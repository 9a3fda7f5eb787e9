import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { tryLock, UserError } from "../lib/index.ts";

interface LedgerOwner {
  readonly ledgerDirectory: string;
  /** Name of the worker. */
  readonly name: string;
}

/** Makes sure that only one process uses the ledgers. Returns a function that releases the ledgers. */
export function lockLedgers({ ledgerDirectory, name }: LedgerOwner): () => void {
  mkdirSync(ledgerDirectory, { recursive: true, mode: 0o700 });
  const attempt = tryLock(join(ledgerDirectory, "lock"));
  if ("release" in attempt) return () => attempt.release();
  const owner = attempt.owner === undefined ? "" : ` (process ${attempt.owner.pid})`;
  throw new UserError(`Worker "${name}" is already running for this directory${owner}`, {
    code: "worker_running",
    fix: "Stop it, or pass --name to start another one.",
    exitCode: 2,
  });
}

/** Returns the id of the ledgers, and creates it if there is none. The caller must have locked the ledgers. */
export function ledgerId(directory: string): string {
  const path = join(directory, "id");
  if (existsSync(path)) return readFileSync(path, "utf8");
  const id = randomUUID();
  writeFileSync(path, id, { mode: 0o600 });
  return id;
}

/** Identifies this machine, or this container. */
export function machineId(): string {
  let id = "";
  try {
    id = readFileSync("/etc/machine-id", "utf8");
  } catch {
    // Other systems have no such file.
  }
  return createHash("sha256").update(`${hostname()}\n${id}`).digest("hex").slice(0, 24);
}
