import { createHash } from "node:crypto";
import { join } from "node:path";
import { isWithin, realPath } from "../sources/project-levels.ts";
import { readBounded } from "../sources/read-bounded.ts";

export interface MemoryPlace {
  readonly scope: "user" | "project" | "local";
  readonly agent: string;
  /** Where settings and sessions are. */
  readonly stateHome: string;
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
  /** True: there is more in the file than this. */
  readonly cut: boolean;
}

const maxLines = 200;
const maxBytes = 25 * 1024;

/**
 * The first 200 lines (25 KB) of MEMORY.md. Undefined when there is none, or when links lead out of `within`: what stands
 * there goes to a model. Never throws, writes nothing.
 */
export function memoryIndex({ directory, within }: { directory: string; within: string }): MemoryIndex | undefined {
  if (!isWithin(realPath(directory), realPath(within))) return undefined;
  const file = join(directory, "MEMORY.md");
  const read = readBounded(file, maxBytes);
  if ("problem" in read) return undefined;
  // A character that the byte limit cut in two is left out.
  const whole = new TextDecoder().decode(read.bytes, { stream: !read.complete }).replace(/\r\n?/g, "\n");
  const lines = whole.replace(/\n$/, "").split("\n");
  const text = lines.slice(0, maxLines).join("\n");
  if (text.trim() === "") return undefined;
  return { file, text, cut: !read.complete || lines.length > maxLines };
}

const longestName = 120;

/** One folder name, whatever the agent is called: never a path, and no two agents share one. */
function encodeName(agent: string): string {
  const encoded = [...Buffer.from(agent, "utf8")]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[A-Za-z0-9_-]/.test(character) ? character : `%${byte.toString(16).padStart(2, "0")}`;
    })
    .join("");
  if (encoded === "") return "%";
  if (encoded.length <= longestName) return encoded;
  return `${encoded.slice(0, longestName - 34)}%-${createHash("sha256").update(agent).digest("hex").slice(0, 32)}`;
}
