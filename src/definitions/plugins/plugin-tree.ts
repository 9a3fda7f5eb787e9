import { createHash } from "node:crypto";
import { type Dirent, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { formatBytes, formatCount } from "../../lib/index.ts";

export type PluginTree =
  /** `files`: relative paths with `/`, sorted. `hash`: hash of all paths and contents. */
  | { readonly ok: true; readonly files: readonly string[]; readonly hash: string }
  | { readonly ok: false; readonly problem: string };

const maxFiles = 5_000;
const maxBytes = 50 * 1024 * 1024;
const maxDepth = 16;

/**
 * Reads a plugin's directory, without `.git`. Refuses links, devices and directories that are too large: a plugin must not
 * leave its directory, and its content must be what was approved. Never throws.
 */
export function readPluginTree(root: string): PluginTree {
  try {
    const files = listFiles(root);
    const hash = createHash("sha256");
    for (const file of files) {
      const content = readFileSync(join(root, file));
      hash.update(`${Buffer.byteLength(file)}:${content.length}:${file}\n`).update(content);
    }
    return { ok: true, files, hash: hash.digest("hex") };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}

function listFiles(root: string): string[] {
  const files: string[] = [];
  const open = [{ directory: root, relative: "", depth: 0 }];
  let bytes = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.depth > maxDepth) throw new Error(`${next.relative} is nested more than ${maxDepth} deep`);
    for (const entry of readdirSync(next.directory, { withFileTypes: true })) {
      if (entry.name === ".git") continue;
      const path = join(next.directory, entry.name);
      const relative = next.relative === "" ? entry.name : `${next.relative}/${entry.name}`;
      const kind = kindOf(entry, path);
      if (kind === "directory") open.push({ directory: path, relative, depth: next.depth + 1 });
      else if (kind === "file") {
        files.push(relative);
        bytes += lstatSync(path).size;
      } else throw new Error(`${relative} is ${kind}: a plugin may hold only files and directories`);
      if (files.length > maxFiles) throw new Error(`it holds more than ${formatCount(maxFiles)} files`);
      if (bytes > maxBytes) throw new Error(`it holds more than ${formatBytes(maxBytes)}`);
    }
  }
  return files.sort();
}

function kindOf(entry: Dirent, path: string): "file" | "directory" | "a link" | "a special file" {
  // Some file systems do not report the kind of an entry.
  const kind = entry.isFile() || entry.isDirectory() || entry.isSymbolicLink() ? entry : lstatSync(path);
  if (kind.isFile()) return "file";
  if (kind.isDirectory()) return "directory";
  return kind.isSymbolicLink() ? "a link" : "a special file";
}
