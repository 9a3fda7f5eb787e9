import { type AndOr, forEachChild, type If, type SyntaxNode } from "unbash";
import type { Directories, SimpleCommand } from "./shell-analysis.ts";
import { hasGlob, type LoopWords, patternsOf } from "./word-patterns.ts";

export const workspaceDirectory: Directories = [""];

/** Maximum number of directories to keep track of. */
const MAX_DIRECTORIES = 16;

/** Tracks the directories in which a script's commands run, while the script is visited. */
export class DirectoryTracker {
  /** Directories in which the next command may run. */
  current: Directories = workspaceDirectory;
  private afterSuccess: Directories = workspaceDirectory;
  private afterFailure: Directories = workspaceDirectory;

  /** Sets the directories in which the next command may run: if the last command succeeds, and if it fails. */
  leave(success: Directories, failure: Directories): void {
    this.afterSuccess = success;
    this.afterFailure = failure;
    this.current = anyOf(success, failure);
  }

  /** Visits commands that run in a separate process, so a change of directory does not last. */
  inSubshell(visit: () => void): void {
    const { current } = this;
    visit();
    this.leave(current, current);
  }

  /** Visits commands that may run later or any number of times, so a change of directory can't be tracked. */
  inBlock(node: SyntaxNode, visit: () => void): void {
    const isLost = mayChangeDirectory(node);
    const { current } = this;
    if (isLost || node.type === "Function") this.current = undefined;
    visit();
    const after = isLost ? undefined : current;
    this.leave(after, after);
  }

  /** Visits the commands of `a && b || c`. */
  inAndOr({ commands, operators }: AndOr, visit: (node: SyntaxNode) => void): void {
    for (const [index, command] of commands.entries()) {
      const { afterSuccess: success, afterFailure: failure } = this;
      const operator = operators[index - 1];
      if (operator !== undefined) this.current = operator === "&&" ? success : failure;
      visit(command);
      if (operator === "&&") this.leave(this.afterSuccess, anyOf(failure, this.afterFailure));
      if (operator === "||") this.leave(anyOf(success, this.afterSuccess), this.afterFailure);
    }
  }

  inIf({ clause, then, elif, else: otherwise }: If, visit: (node: SyntaxNode) => void): void {
    visit(clause);
    let { afterFailure: failure } = this;
    this.current = this.afterSuccess;
    visit(then);
    let after = this.current;
    for (const each of elif) {
      this.current = failure;
      visit(each.clause);
      failure = this.afterFailure;
      this.current = this.afterSuccess;
      visit(each.then);
      after = anyOf(after, this.current);
    }
    this.current = failure;
    if (otherwise !== undefined) visit(otherwise);
    after = anyOf(after, this.current);
    this.leave(after, after);
  }

  /** Swaps the success and failure of the last command, as `!` does. */
  negate(): void {
    this.leave(this.afterFailure, this.afterSuccess);
  }
}

export function anyOf(left: Directories, right: Directories): Directories {
  if (left === right) return left;
  if (left === undefined || right === undefined) return undefined;
  const all = [...new Set([...left, ...right])];
  return all.length > MAX_DIRECTORIES ? undefined : all;
}

export const directoryChangers: ReadonlySet<string> = new Set(["cd", "pushd", "popd"]);

/**
 * Returns the possible directories after a successful `cd` or `pushd`. Like the shell, treats `link/..` as no change.
 */
export function changeDirectory(from: Directories, { words }: SimpleCommand, loops: LoopWords): Directories {
  const [program, ...given] = words;
  const name = program!.text;
  const operands = given[0]?.open === undefined && given[0]?.text === "--" ? given.slice(1) : given;
  if (name === "popd" || (name === "pushd" && operands.length !== 1) || operands.length > 1) return undefined;
  const [target] = operands;
  if (target === undefined) return ["~"];
  if (target.open === undefined && /^[-+]|^$/.test(target.text)) return undefined;
  const found = patternsOf(target, loops);
  if (found === undefined || found.some(({ pattern }) => /^[-+]/.test(pattern))) return undefined;
  // `cd *` fails, or changes to the only directory that matches.
  const targets = found.map(({ pattern }) => pattern);
  if (targets.every((pattern) => /^[/~]/.test(pattern))) return limited(targets.map(normalize));
  return from && limited(from.flatMap((start) => targets.map((pattern) => normalize(joinPattern(start, pattern)))));
}

function limited(directories: readonly (string | undefined)[]): Directories {
  const all = new Set(directories);
  return all.has(undefined) || all.size > MAX_DIRECTORIES ? undefined : ([...all] as string[]);
}

/** Returns the pattern relative to the workspace. */
export function joinPattern(directory: string, pattern: string): string {
  if (directory === "" || /^[/~]/.test(pattern)) return pattern;
  return directory.endsWith("/") ? directory + pattern : `${directory}/${pattern}`;
}

/**
 * Removes `.` and `..` from a directory as `cd` does, without following symlinks; undefined if that is not possible.
 */
function normalize(pattern: string): string | undefined {
  const names: string[] = [];
  for (const name of pattern.split("/")) {
    const last = names.at(-1);
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (last === "~" || (last !== undefined && hasGlob(last))) return undefined;
    else if (last !== undefined && last !== "..") names.pop();
    else if (!pattern.startsWith("/")) names.push(name);
  }
  return (pattern.startsWith("/") ? "/" : "") + names.join("/");
}

/** Returns true if running the node may change the directory of the shell that runs it. */
function mayChangeDirectory(node: SyntaxNode): boolean {
  const known = changes.get(node) ?? containsChange(node);
  changes.set(node, known);
  return known;
}

/** Caches results, because nested loops are visited repeatedly. */
const changes = new WeakMap<SyntaxNode, boolean>();

function containsChange(node: SyntaxNode): boolean {
  if (node.type === "Subshell" || node.type === "CommandExpansion" || node.type === "ProcessSubstitution") return false;
  if (node.type === "Pipeline" && node.commands.length > 1) return false;
  if (node.type === "Statement" && node.background === true) return false;
  // Any other name changes the directory only if it is an alias or a function, and a line can't define these without
  // approval.
  if (node.type === "Command" && /^(cd|pushd|popd|eval|builtin|command|source|\.|trap)$/.test(node.name?.value ?? "$"))
    return true;
  const name = node.type === "Command" ? (node.name?.text ?? "") : "";
  if (name !== "[" && /[$`{*?[\\"']/.test(name)) return true;
  let found = false;
  forEachChild(node, (child) => {
    found ||= mayChangeDirectory(child);
  });
  return found;
}
