import { type FileHandle, open, realpath, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorCode } from "../errors.ts";
import { createId } from "../ids.ts";
import { syncDirectory } from "./append-file.ts";

/**
 * Replaces the whole content of a file: readers see either the old or the new content, even after a crash, a full disk
 * or a power cut. Keeps the mode of an existing file (and its owner if permitted) and follows a symlink; `mode` applies
 * to a new file. If the promise rejects with the system's error, the file is unchanged.
 */
export async function writeAtomically(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600 }: { mode?: number } = {},
): Promise<void> {
  const target = await realpath(path).catch((error) => ifMissing(error, path));
  const existing = await stat(target).catch((error) => ifMissing(error, undefined));
  const directory = dirname(target);
  const temporary = join(directory, `.${basename(target).slice(0, 100)}.${createId()}.tmp`);
  // Keep the file private until it gets its final mode, because the content may be secret and the default mode too
  // permissive.
  const file = await open(temporary, "wx", 0o600);
  try {
    await fill(file, { content, mode: existing ? existing.mode & 0o7777 : mode, owner: existing });
    await rename(temporary, target);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
  await syncDirectory(directory);
}

interface NewContent {
  content: string | Uint8Array;
  mode: number;
  owner: { uid: number; gid: number } | undefined;
}

async function fill(file: FileHandle, { content, mode, owner }: NewContent): Promise<void> {
  try {
    await file.writeFile(content);
    // Only a privileged process can change the owner; otherwise this process owns the new file. Set the mode last,
    // because chown clears some of its bits.
    if (owner && process.getuid && (owner.uid !== process.getuid() || owner.gid !== process.getgid?.())) {
      await file.chown(owner.uid, owner.gid).catch(() => {});
    }
    await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
}

function ifMissing<T>(error: unknown, whenMissing: T): T {
  if (errorCode(error) === "ENOENT") return whenMissing;
  throw error;
}
