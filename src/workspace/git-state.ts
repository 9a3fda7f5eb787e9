import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { GitState } from "../ports/index.ts";
import { type Environment, openGit } from "./worktrees/git.ts";

/**
 * Time limit for git. A longer delay before the first request would be noticeable, and the agent can still look up the
 * state later.
 */
const LIMIT_MS = 1_500;
const MOST_CHANGES = 20;

/**
 * Returns the nearest directory that contains a `.git` entry, starting at the given one and going up, without running
 * git.
 */
export function repositoryRoot(directory: string): string | undefined {
  if (existsSync(join(directory, ".git"))) return directory;
  const above = dirname(directory);
  return above === directory ? undefined : repositoryRoot(above);
}

/**
 * Reads the branch and the changed files of a working tree. Returns an empty state if git fails or takes too long.
 * Never rejects.
 */
export async function readGitState(directory: string, environment: Environment): Promise<GitState> {
  try {
    const git = await openGit({ cwd: directory, environment }, { limitMs: LIMIT_MS });
    // A submodule has its own configuration, which could make git run programs.
    const args = ["status", "--porcelain=v1", "--branch", "--ignore-submodules=all"];
    const { code, output } = await git.ask(args, { limitMs: LIMIT_MS });
    return code === 0 ? parseStatus(output.toString("utf8")) : {};
  } catch {
    return {};
  }
}

/** Parses the output of `git status --porcelain=v1 --branch`. */
export function parseStatus(output: string): GitState {
  const [first = "", ...changes] = output.split("\n").filter((line) => line !== "");
  return { branch: branchIn(first), changes: changes.slice(0, MOST_CHANGES), changed: changes.length };
}

function branchIn(line: string): string | undefined {
  const text = line.replace(/^## /, "").replace(/^(No commits yet on|Initial commit on) /, "");
  if (text.startsWith("HEAD (no branch)")) return undefined;
  return text.replace(/\.\.\..*$/, "").replace(/ \[.*\]$/, "");
}
