import { readdir } from "node:fs/promises";
import { join } from "node:path";

const MAX_FILES = 20_000;
const skipped: ReadonlySet<string> = new Set(["node_modules", "dist", "build", "target", "__pycache__", "venv"]);

/**
 * Lists the files and directories below a directory, nearest first, for completion. Directories end with a slash.
 * Hidden ones and those that usually contain generated files are left out. Never rejects.
 */
export async function listFiles(root: string): Promise<readonly string[]> {
  const found: string[] = [];
  const queue = [""];
  for (let directory = queue.shift(); directory !== undefined && found.length < MAX_FILES; directory = queue.shift()) {
    const entries = await readdir(join(root, directory), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (entry.name.startsWith(".") || skipped.has(entry.name)) continue;
      const path = `${directory}${entry.name}`;
      // Symlinks are not followed, to avoid cycles.
      if (entry.isDirectory()) queue.push(`${path}/`);
      found.push(entry.isDirectory() ? `${path}/` : path);
    }
  }
  return found.slice(0, MAX_FILES);
}
