import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { type CheckedFile, checkMarkdownFile, projectLevels } from "../definitions/index.ts";
import { describeError } from "../lib/index.ts";
import { type MarkdownFile, markdownFiles } from "./markdown-files.ts";
import type { Environment } from "./places.ts";

export interface AgentCheck extends CheckedFile {
  /** Relative to the directory that was given; with several of them their names stand before it. */
  readonly file: string;
  /** Meant to be a definition and not loaded: whoever wrote it must act. */
  readonly failed: boolean;
}

/** One result for every Markdown file, as they are read. Throws a `UserError` for a path that is not there. */
export async function* checkAgents(paths: readonly string[]): AsyncGenerator<AgentCheck> {
  for (const given of paths) {
    for (const found of markdownFiles(given, paths.length > 1 ? given.replace(/\/+$/, "") : "")) {
      const checked = await checkOne(found);
      // A file that was named itself was meant; in a directory a text without frontmatter is only a neighbour.
      const isText = found.file !== given && checked.diagnostics.some(({ code }) => code === "no_frontmatter");
      const isOff = checked.diagnostics.some(({ code }) => code === "disabled");
      yield { file: found.file, ...checked, failed: !checked.loaded && !isText && !isOff };
    }
  }
}

/** Where the definitions of this place and of the user are, as far as the directories exist. */
export function definitionDirectories({ cwd, environment }: { cwd: string; environment: Environment }): string[] {
  const home = environment["HOME"] || homedir();
  const bases = new Set([...projectLevels({ cwd, home }).nearestFirst, home]);
  return [...bases]
    .flatMap((base) => places.map((place) => join(base, ...place)))
    .filter((directory) => existsSync(directory));
}

const places = [
  [".agents", "agents"],
  [".claude", "agents"],
  [".agents", "skills"],
  [".claude", "skills"],
];

async function checkOne({ path, file }: MarkdownFile): Promise<CheckedFile> {
  try {
    return await checkMarkdownFile({ bytes: readStart(path), file: resolve(path), source: "project" });
  } catch (error) {
    const message = `The file can't be read: ${describeError(error)}`;
    return {
      kind: basename(path).toLowerCase() === "skill.md" ? "skill" : "agent",
      loaded: false,
      name: null,
      description: null,
      tools: null,
      disallowedTools: null,
      model: null,
      diagnostics: [{ severity: "error", file, line: 1, code: "unreadable", message }],
    };
  }
}

/** One byte more than a definition may have, so that the reader can say that it is too large. */
const buffer = Buffer.allocUnsafe(1024 * 1024 + 1);

/** Enough of a file to read it as a definition, or to see that it is too large for one. */
export function readStart(path: string): Uint8Array {
  const descriptor = openSync(path, "r");
  try {
    let length = 0;
    for (;;) {
      const count = readSync(descriptor, buffer, length, buffer.length - length, null);
      if (count === 0) return Buffer.from(buffer.subarray(0, length));
      length += count;
    }
  } finally {
    closeSync(descriptor);
  }
}
