import { joinPattern } from "./directory-changes.ts";
import { diffPatches, diffSummaries, git, unmodelledGit } from "./programs/git.ts";
import { optionsOf } from "./programs/model.ts";
import { sortArguments } from "./programs/read-arguments.ts";
import { programOf, type SimpleCommand } from "./shell-analysis.ts";
import type { ShellWord } from "./shell-word.ts";
import { escapePattern, pathOf } from "./word-patterns.ts";

export interface GitSubcommand {
  readonly name: string;
  /** Index of the first argument among the words of the command. */
  readonly from: number;
  /** The arguments of the subcommand. */
  readonly given: readonly ShellWord[];
  /** The options before the subcommand. */
  readonly globals: readonly ShellWord[];
}

/** Returns the subcommand of `git name` or `git-name`; undefined if there is none, or if only the shell knows it. */
export function gitSubcommand({ words }: Pick<SimpleCommand, "words">): GitSubcommand | undefined {
  const program = words[0]!.text.slice(words[0]!.text.lastIndexOf("/") + 1);
  if (program.startsWith("git-")) return { name: program.slice(4), from: 1, given: words.slice(1), globals: [] };
  for (let index = 1; index < words.length; index += 1) {
    const { text, open } = words[index]!;
    if (open !== undefined) return undefined;
    if (!text.startsWith("-"))
      return { name: text, from: index + 1, given: words.slice(index + 1), globals: words.slice(1, index) };
    if (optionsOf(git).exact(text)?.value === "required") index += 1;
  }
  return undefined;
}

/** Returns true if the subcommand of a git command is not one of git's own, so that a setting may determine what it is. */
export function mayBeAlias(command: SimpleCommand): boolean {
  const subcommand = gitSubcommand(command);
  if (subcommand === undefined) return false;
  const { name } = subcommand;
  return !quiet.has(name) && !git.commands!.has(name) && !unmodelledGit.has(name);
}

/**
 * Returns true unless a git command is known not to reveal the contents of tracked files, some of which a rule may
 * deny. A command reveals contents by printing them or by storing them under other names. Also returns false if the
 * operands limit the command to files that are judged separately. `isFile` tells whether a path leads to a file.
 */
export function mayGiveContents(command: SimpleCommand, isFile: (path: string) => boolean): boolean {
  if (!/^git(-.|$)/.test(programOf(command))) return false;
  const subcommand = gitSubcommand(command);
  if (subcommand === undefined) return command.words.some(({ open }) => open !== undefined);
  const { name, given, globals } = subcommand;
  // The files would be written to another directory, where other rules apply.
  if (globals.some(({ text }) => /^(--work|--git-dir|-c$|--config)/.test(text))) return true;
  if (!printers.has(name)) return !isQuiet(name, given);
  const isMoved = globals.some(({ text }) => text.startsWith("-C"));
  return printsContents(command, subcommand) && (isMoved || !isLimited(command, { subcommand, isFile }));
}

/** Git commands that print the contents of files with some options or operands, and not with others. */
const printers = new Set(
  "grep blame annotate range-diff cat-file show diff log whatchanged reflog diff-tree diff-index diff-files status config".split(
    " ",
  ),
);

/** Git commands that reveal no contents of files, each with a pattern for arguments with which it does. */
const quiet: ReadonlyMap<string, RegExp | undefined> = new Map<string, RegExp | undefined>([
  ..."remote rev-parse rev-list describe name-rev merge-base symbolic-ref show-ref check-ignore check-attr check-ref-format cherry count-objects version ls-files ls-tree shortlog var rm mv clean merge pull push send-pack fetch fetch-pack ls-remote init gc prune repack maintenance pack-refs cherry-pick revert switch notes hash-object update-ref show-branch sparse-checkout help submodule"
    .split(" ")
    .map((name) => [name, undefined] as const),
  // A reference may name any object, so a format can print the contents of a file.
  ...["branch", "tag", "for-each-ref"].map((name) => [name, /%\(\*?raw/] as const),
  ...["add", "checkout", "reset", "restore"].map((name) => [name, /^--(p|int|ed)|^-[a-zA-Z]*[pie]/] as const),
  // The text after `m` in the same word is a message.
  ["commit", /^--(p|v|int)|^-[a-ln-zA-Z]*[pv]/],
  ["rebase", /^--sh/],
  ["fsck", /^--l/],
  ["update-index", /^--(c|i|st)/],
  ["stash", /^(show|--p.*|-[a-ln-zA-Z]*[pu])$/],
  ["worktree", /^(add|move)$/],
  ["bisect", /^(view|visualize|run)$/],
]);

function isQuiet(name: string, given: readonly ShellWord[]): boolean {
  // Cloning this repository makes another copy of its files.
  if (name === "clone") return given.some(({ text }) => /^(https?|ssh|git):\/\/|^[\w.-]+@[\w.-]+:/.test(text));
  if (!quiet.has(name)) return false;
  const telling = quiet.get(name);
  return telling === undefined || !given.some(({ text, open }) => telling.test(text) || (open && /^-?$/.test(text)));
}

/** Returns true if a git command that may print contents does so. */
function printsContents({ words }: SimpleCommand, { name, from }: GitSubcommand): boolean {
  const { options, operands } = sortArguments(specOf(name), words, { from, name });
  const has = (names: RegExp) => options.some(({ option = "" }) => names.test(option));
  const isPatch = has(diffPatches) || has(/^-I$|^--ignore-matching-lines$/);
  switch (name) {
    case "grep":
      // Even an answer of yes or no reveals contents, if the question can be repeated.
      return true;
    case "cat-file":
      return !has(/^-[tse]$|^--batch-check$/);
    case "show":
    case "diff":
      return isPatch || operands.some(({ word }) => isHash(word, name) || isBlob(word, name)) || !has(diffSummaries);
    case "status":
      return has(/^--verbose$/);
    case "config":
      return has(/^--blob$/);
    default:
      return isPatch || /^(blame|annotate|range-diff)$/.test(name);
  }
}

/** Returns true if the operands limit a git command to files that are judged separately. */
function isLimited(
  { words, directories }: SimpleCommand,
  { subcommand, isFile }: { readonly subcommand: GitSubcommand; readonly isFile: (path: string) => boolean },
): boolean {
  const { name, from } = subcommand;
  const { options, operands, effects } = sortArguments(specOf(name), words, { from, name });
  const has = (names: RegExp) => options.some(({ option = "" }) => names.test(option));
  if (effects.some(({ kind, at }) => kind === "unknown" && at > 0) || has(/^--(batch|stdin)/)) return false;
  if (directories === undefined) return false;
  const end = words.findIndex(({ text, open }) => open === undefined && text === "--");
  const given = name === "grep" && !has(/^-[ef]$/) ? operands.slice(1) : operands;
  const isPath = ({ text, open }: ShellWord) =>
    open === undefined &&
    !/^:|[*?[\\]/.test(text) &&
    directories.every((directory) => isFile(pathOf(joinPattern(directory, escapePattern(text)))));
  // Words before `--` are revisions, even if there is a file with the same name.
  const paths = given.filter(({ word, at }) => isPath(word) && at > end);
  const others = given.filter((each) => !paths.includes(each));
  const areRevisions = others.every(
    ({ word, at }) => word.open === undefined && !isHash(word, name) && (end === -1 || at < end),
  );
  const areBlobs = others.every(({ word }) => isBlob(word, name) || /^(blob|tree|commit|tag)$/.test(word.text));
  if (!areRevisions) return false;
  return areBlobs ? given.length > 0 : paths.length > 0 && !others.some(({ word }) => isBlob(word, name));
}

function specOf(name: string) {
  return git.commands!.get(name === "reflog" ? "log" : name)!;
}

function isBlob({ text }: ShellWord, name: string): boolean {
  return /^(show|cat-file)$/.test(name) && /^[^:]+:[^:]/.test(text);
}

function isHash({ text }: ShellWord, name: string): boolean {
  return /^[\da-f]{4,}$/i.test(text) && !/^(log|blame|annotate)$/.test(name);
}
