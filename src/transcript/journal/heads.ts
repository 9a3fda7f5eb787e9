import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../../lib/index.ts";
import type { Head } from "../../protocol/index.ts";
import type { DiskRetry } from "./disk-retry.ts";

export interface Heads {
  save(head: Head): Promise<string>;
  load(hash: string): Promise<Head | undefined>;
}

export interface HeadsOptions {
  readonly directory: string;
  readonly retry: DiskRetry;
  readonly alsoSync: (path: string) => void;
}

/**
 * Stores heads under the hash of their JSON, in which keys keep their order. Each head object is saved only once,
 * because agents of the same type share it.
 */
export function createHeads({ directory, retry, alsoSync }: HeadsOptions): Heads {
  const saved = new WeakMap<Head, Promise<string>>();

  async function saveNew(head: Head): Promise<string> {
    const { hash, json } = hashHead(head);
    await retry.run(() => write(hash, json));
    return hash;
  }

  function write(hash: string, json: string): void {
    const path = join(directory, `${hash}.json`);
    if (readVerified(path, hash) !== undefined) return;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const temporary = `${path}.${process.pid}.${randomUUID().slice(0, 8)}`;
    try {
      // The file is not synced here, because the first request must not wait for the disk. The next commit syncs it
      // together with the lines that refer to it.
      writeFileSync(temporary, json, { mode: 0o600 });
      renameSync(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
    alsoSync(path);
    alsoSync(directory);
  }

  return {
    save(head) {
      const saving = saved.get(head) ?? saveNew(head);
      saved.set(head, saving);
      saving.catch(() => saved.delete(head));
      return saving;
    },
    async load(hash) {
      return readHead(directory, hash);
    },
  };
}

export function readHead(directory: string, hash: string): Head | undefined {
  if (!/^[0-9a-f]{64}$/.test(hash)) return undefined;
  const json = readVerified(join(directory, `${hash}.json`), hash);
  return json === undefined ? undefined : (JSON.parse(json) as Head);
}

export function hashHead(head: Head): { hash: string; json: string } {
  const json = JSON.stringify(head);
  return { hash: sha256(json), json };
}

function readVerified(path: string, hash: string): string | undefined {
  try {
    const json = readFileSync(path, "utf8");
    return sha256(json) === hash ? json : undefined;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
