import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { chmod, copyFile, mkdir, open, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode } from "../../lib/index.ts";
import type { Transcript } from "../../ports/index.ts";
import { parseAddress, resultAddress } from "../../protocol/index.ts";
import type { DiskRetry } from "./disk-retry.ts";

export interface ResultStoreOptions {
  readonly directory: string;
  readonly retry: DiskRetry;
  readonly alsoSync: (path: string) => void;
}

export function createResultStore({ directory, retry, alsoSync }: ResultStoreOptions): Transcript["results"] {
  async function store(id: string, write: (path: string) => Promise<void>): Promise<string> {
    const name = resultName(id);
    const path = join(directory, `${name}.txt`);
    await retry.run(async () => {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      // A planted link is replaced, not followed.
      await rm(path, { force: true });
      await write(path);
    });
    alsoSync(path);
    alsoSync(directory);
    return resultAddress(name);
  }
  return {
    save: (id, content) => store(id, (path) => writeFile(path, content, { mode: 0o600, flag: "wx" })),
    saveFile: (id, from) =>
      store(id, async (path) => {
        await copyFile(from, path, constants.COPYFILE_EXCL);
        await chmod(path, 0o600);
      }),
    async read(address) {
      const parsed = parseAddress(address);
      if (parsed?.kind !== "result") return undefined;
      const name = `${parsed.id}.txt`;
      // Earlier versions saved the output of commands beside this directory.
      return (await openText(join(directory, name))) ?? openText(join(dirname(directory), name));
    },
  };
}

const CHUNK_BYTES = 256 * 1024;

async function openText(path: string): Promise<AsyncIterable<Uint8Array> | undefined> {
  try {
    // Links are not followed, because a planted symlink would bypass the rules for reading files.
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if ((await file.stat()).isFile()) return file.createReadStream({ highWaterMark: CHUNK_BYTES });
    await file.close();
    return undefined;
  } catch (error) {
    if (["ENOENT", "ELOOP", "ENOTDIR", "ENXIO"].includes(errorCode(error) ?? "")) return undefined;
    throw error;
  }
}

/** Converts an id to a file name. Different ids get different names. */
export function resultName(id: string): string {
  if (/^[a-zA-Z0-9_-]{1,80}$/.test(id)) return id;
  const hash = createHash("sha256").update(id).digest("hex").slice(0, 12);
  return `${id.replace(/[^a-zA-Z0-9_-]+/g, "-").slice(0, 60)}-${hash}`;
}
