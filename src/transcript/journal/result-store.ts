import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../../lib/index.ts";
import type { ResultStore } from "../../ports/index.ts";
import type { DiskRetry } from "./disk-retry.ts";

export interface ResultStoreOptions {
  readonly directory: string;
  readonly retry: DiskRetry;
  readonly alsoSync: (path: string) => void;
}

export function createResultStore({ directory, retry, alsoSync }: ResultStoreOptions): ResultStore {
  return {
    async save(id, text) {
      const name = resultName(id);
      const path = join(directory, `${name}.txt`);
      await retry.run(async () => {
        await mkdir(directory, { recursive: true, mode: 0o700 });
        await writeFile(path, text, { mode: 0o600 });
      });
      alsoSync(path);
      alsoSync(directory);
      return addressOf(name);
    },
    async read(address) {
      const name = nameIn(address);
      if (name === undefined) return undefined;
      try {
        // Links are not followed, because a planted symlink would bypass the rules for reading files.
        const flag = constants.O_RDONLY | constants.O_NOFOLLOW;
        return await readFile(join(directory, `${name}.txt`), { encoding: "utf8", flag });
      } catch (error) {
        if (["ENOENT", "ELOOP", "ENOTDIR", "EISDIR"].includes(errorCode(error) ?? "")) return undefined;
        throw error;
      }
    },
  };
}

const scheme = "retinue://result/";

/** Returns the name in a result's address. Returns undefined for any other text. */
export function nameIn(address: string): string | undefined {
  if (!address.startsWith(scheme)) return undefined;
  const name = address.slice(scheme.length);
  return /^[a-zA-Z0-9_-]{1,80}$/.test(name) ? name : undefined;
}

/** Converts an id to a file name. Different ids get different names. */
export function resultName(id: string): string {
  if (/^[a-zA-Z0-9_-]{1,80}$/.test(id)) return id;
  const hash = createHash("sha256").update(id).digest("hex").slice(0, 12);
  return `${id.replace(/[^a-zA-Z0-9_-]+/g, "-").slice(0, 60)}-${hash}`;
}

export function addressOf(name: string): string {
  return `${scheme}${name}`;
}
