import { realpath } from "node:fs/promises";
import { dirname, sep } from "node:path";
import { describeError, hashBytes } from "../lib/index.ts";
import type { FileRestoration, RestoredFile, Workspace } from "../ports/index.ts";

/** Maximum size of a file to restore. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Restores the earlier content of a file in a workspace, unless the file has changed since. Never rejects. */
export async function restoreFile(request: FileRestoration, workspace: Workspace): Promise<RestoredFile> {
  try {
    return await restore(request, workspace);
  } catch (error) {
    return { ok: false, message: describeError(error) };
  }
}

async function restore({ path, content, expect }: FileRestoration, workspace: Workspace): Promise<RestoredFile> {
  if (!(await isInside(path, workspace.root))) return refuse("it is outside the workspace");
  const now = await workspace.read(path, { maxBytes: MAX_BYTES });
  if (!now.ok && now.code !== "ENOENT") return refuse(now.message);
  const bytes = content === null ? undefined : Buffer.from(content, "base64");
  const current = now.ok ? hashBytes(now.bytes) : undefined;
  if (current === (bytes && hashBytes(bytes))) return { ok: true };
  if ((current ?? null) !== expect) return refuse(now.ok ? "it has been changed since" : "it has been deleted since");
  const version = now.ok ? now.stat.version : "missing";
  const changed =
    bytes === undefined
      ? await workspace.remove(path, { expect: version })
      : await workspace.write(path, bytes, { expect: version });
  return changed.ok ? { ok: true } : refuse(changed.message);
}

/**
 * Returns whether a path is really in a directory. False if a directory in the path has been replaced with a symlink.
 */
async function isInside(path: string, root: string): Promise<boolean> {
  if (!path.startsWith(root + sep)) return false;
  const directory = await realpath(dirname(path)).catch(() => undefined);
  return directory === undefined || directory === dirname(path);
}

function refuse(message: string): RestoredFile {
  return { ok: false, message };
}
