import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { type CheckedFile, checkMarkdownFile, projectLevels } from "../../definitions/index.ts";
import { type MarkdownFile, markdownFiles } from "../agents/markdown-files.ts";
import { readStart } from "../agents/read-start.ts";
import type { Environment } from "../places.ts";

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
      const mayBeText = found.file !== given && checked.kind === "agent";
      const isText = mayBeText && checked.diagnostics.some(({ code }) => code === "no_frontmatter");
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

async function checkOne({ path, file, problem }: MarkdownFile): Promise<CheckedFile> {
  const read = problem === undefined ? readStart(path, file) : { problem };
  if ("bytes" in read) return checkMarkdownFile({ bytes: read.bytes, file: resolve(path), source: "project" });
  return {
    kind: basename(path).toLowerCase() === "skill.md" ? "skill" : "agent",
    loaded: false,
    name: null,
    description: null,
    tools: null,
    disallowedTools: null,
    model: null,
    diagnostics: [read.problem],
  };
}
