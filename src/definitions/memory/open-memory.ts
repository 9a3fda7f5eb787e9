import { createHash } from "node:crypto";
import { accessSync, constants, existsSync, lstatSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { describeError, isWithin } from "../../lib/index.ts";
import type { MemoryRequest, OpenedMemory } from "../../protocol/index.ts";
import { realPath } from "../sources/project-levels.ts";
import { readBounded } from "../sources/read-bounded.ts";

export interface LocalMemoryRequest extends MemoryRequest {
  /** The state directory, with settings and sessions. */
  readonly stateHome: string;
}

/** Finds an agent's memory and reads its index. Writes nothing and never throws. */
export function openMemory(request: LocalMemoryRequest): OpenedMemory {
  // A relative path would be resolved in the working directory, which may belong to anyone.
  if (!isAbsolute(request.stateHome)) return { ok: false, problem: `${request.stateHome} is not an absolute path` };
  const stateHome = resolveLinks(request.stateHome);
  if (request.scope !== "user" && request.projectRoot === undefined)
    return { ok: false, problem: "the project has no trusted directory" };
  const projectRoot = resolveLinks(request.projectRoot ?? stateHome);
  const directory = memoryDirectory({ ...request, stateHome, projectRoot });
  const base = request.scope === "user" ? stateHome : projectRoot;
  const problem = obstacle(directory, base);
  if (problem !== undefined) return { ok: false, problem };
  const file = join(directory, "MEMORY.md");
  // Otherwise the agent would believe that its memory is empty.
  if (!isReadable(file)) return { ok: false, problem: `${file} is not a readable file` };
  const index = memoryIndex({ directory, within: base });
  return { ok: true, directory, exists: existsSync(directory), index: index?.text, cut: index?.cut };
}

/**
 * Explains why the directory can't be used; undefined if it can. Symlinks are rejected, because a project can contain
 * one and the agent would write to its target without approval.
 */
function obstacle(directory: string, base: string): string | undefined {
  if (directory === base) return undefined;
  const above = obstacle(dirname(directory), base);
  if (above !== undefined) return above;
  try {
    const stats = lstatSync(directory, { throwIfNoEntry: false });
    if (stats === undefined || stats.isDirectory()) return undefined;
    return stats.isSymbolicLink() ? `${directory} is a link` : `${directory} is not a directory`;
  } catch (error) {
    return describeError(error);
  }
}

/** Returns true if the file can be read or does not exist. */
function isReadable(file: string): boolean {
  try {
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return true;
    accessSync(file, constants.R_OK);
    return stats.isFile();
  } catch {
    return false;
  }
}

/** Resolves symlinks, even in a path that does not exist yet. */
function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(resolveLinks(parent), basename(path));
  }
}

interface MemoryPlace extends LocalMemoryRequest {
  readonly projectRoot: string;
}

export function memoryDirectory({ scope, agent, stateHome, projectRoot }: MemoryPlace): string {
  const folder = encodeName(agent);
  if (scope === "user") return join(stateHome, "agent-memory", folder);
  return join(projectRoot, ".retinue", scope === "project" ? "agent-memory" : "agent-memory-local", folder);
}

export interface MemoryIndex {
  readonly file: string;
  readonly text: string;
  /** True if the file is longer than `text`. */
  readonly cut: boolean;
}

const maxLines = 200;
const maxBytes = 25 * 1024;

/**
 * Returns the first 200 lines (25 KB) of MEMORY.md. Returns undefined if the file does not exist, or if symlinks lead
 * out of `within`, because the text is sent to a model. Never throws and writes nothing.
 */
export function memoryIndex({ directory, within }: { directory: string; within: string }): MemoryIndex | undefined {
  if (!isWithin(realPath(directory), realPath(within))) return undefined;
  const file = join(directory, "MEMORY.md");
  const read = readBounded(file, maxBytes);
  if ("problem" in read) return undefined;
  // Leave out a character that the byte limit splits.
  const whole = new TextDecoder().decode(read.bytes, { stream: !read.complete }).replace(/\r\n?/g, "\n");
  const lines = whole.replace(/\n$/, "").split("\n");
  const text = lines.slice(0, maxLines).join("\n");
  if (text.trim() === "") return undefined;
  return { file, text, cut: !read.complete || lines.length > maxLines };
}

const maxNameLength = 120;

/** Encodes any agent name as a folder name that is unique to the agent and never a path. */
function encodeName(agent: string): string {
  const encoded = [...Buffer.from(agent, "utf8")]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[A-Za-z0-9_-]/.test(character) ? character : `%${byte.toString(16).padStart(2, "0")}`;
    })
    .join("");
  if (encoded === "") return "%";
  if (encoded.length <= maxNameLength) return encoded;
  return `${encoded.slice(0, maxNameLength - 34)}%-${createHash("sha256").update(agent).digest("hex").slice(0, 32)}`;
}
