import { isWithin, matchParts } from "../../lib/index.ts";
import type { ResolvedPath, ShellPath } from "../../protocol/index.ts";
import { type CommandRead, operandsOf, readKey, readsOf } from "../shell/command-reads.ts";
import { copyingBy, isHere } from "../shell/copied-files.ts";
import { joinPattern } from "../shell/directory-changes.ts";
import { gitSubcommand } from "../shell/git-contents.ts";
import { effectsOf } from "../shell/programs/effects-of.ts";
import { everyCommand, programOf, type ShellAnalysis, type SimpleCommand, unitsOf } from "../shell/shell-analysis.ts";
import type { ShellWord } from "../shell/shell-word.ts";
import { hasGlob, patternsOf, unescapePattern } from "../shell/word-patterns.ts";

export interface CreatedPathsContext {
  /** Resolves a path on the line to the file that it leads to before the line runs. */
  readonly placeOf: (path: string) => ResolvedPath | undefined;
  /** True if rules deny reading some files, so that moving such a file matters too. */
  readonly isGuarded: boolean;
}

/**
 * Returns a predicate for paths on a command line: true if another command on the line may create a symlink, or a
 * directory with symlinks, at or above the path. In that case, it is unknown where the path leads after that command
 * has run. The order of the commands is ignored, because loops and background commands can change it.
 */
export function createdPaths(
  analysis: ShellAnalysis,
  context: CreatedPathsContext,
): (path: string, shell: ShellPath | undefined) => boolean {
  const creators = [...everyCommand(analysis.commands)].flatMap((command) => {
    const created = createdBy(command, analysis, context);
    return created === undefined ? [] : [{ command, created }];
  });
  if (creators.length === 0) return () => false;
  const keys = new Set<string>();
  for (const { command } of unitsOf(analysis)) {
    const others = creators.filter((creator) => creator.command !== command).map(({ created }) => created);
    for (const read of others.length === 0 ? [] : filesUsedBy(command, analysis)) {
      if (others.some((created) => leadsThrough(read, created, context))) keys.add(readKey(read.shell));
    }
  }
  return (path, shell) => {
    if (shell !== undefined && shell.role !== "redirection") return keys.has(readKey(shell));
    const read: CommandRead = { path, shell: shell ?? { role: "redirection", pattern: path } };
    return creators.some(({ created }) => leadsThrough(read, created, context));
  };
}

/** Paths that a command creates or replaces; `anything` if they can't be determined from its words. */
type Created = readonly string[] | "anything";

/** Returns the files that a command is known to use. Git does not follow symlinks in its work tree. */
function filesUsedBy(command: SimpleCommand, { loopWords }: ShellAnalysis): readonly CommandRead[] {
  if (programOf(command) === "git" && !command.words.some(({ text }) => text.startsWith("--no-index"))) return [];
  const operands = operandsOf(command, loopWords);
  const used = effectsOf(command).filter(({ kind }) => fileKinds.has(kind));
  return [
    ...[false, true].flatMap((sandboxed) => readsOf(command, loopWords, { sandboxed }).reads),
    ...used.flatMap(({ at }) => operands.get(command.words[at]!) ?? []),
  ];
}

const fileKinds: ReadonlySet<string> = new Set(["read", "list", "write", "directory"]);

function leadsThrough({ path, shell }: CommandRead, created: Created, context: CreatedPathsContext): boolean {
  if (created === "anything") return true;
  const { placeOf, isGuarded } = context;
  // A command that traverses a directory also reaches everything that was created in it.
  const isTraversed = shell.walk !== undefined && (shell.walk.follows || isGuarded);
  if (hasGlob(shell.pattern)) return created.some((each) => mayOverlap(shell.pattern, each));
  const place = placeOf(path);
  if (place === undefined) return true;
  return created.some((each) => {
    const ends = absolutePaths(each, placeOf);
    return ends.some((end) =>
      [place.absolute, place.real].some((start) => isWithin(start, end) || (isTraversed && isWithin(end, start))),
    );
  });
}

/** Returns a created path with and without symlinks resolved. If the path itself is unknown, resolves its directory. */
function absolutePaths(path: string, placeOf: CreatedPathsContext["placeOf"]): readonly string[] {
  const place = placeOf(path);
  if (place !== undefined) return [place.absolute, place.real];
  const slash = path.lastIndexOf("/");
  const directory = placeOf(slash === -1 ? "." : path.slice(0, slash));
  if (directory === undefined) return ["/"];
  return [directory.absolute, directory.real].map((each) => `${each}/${path.slice(slash + 1)}`);
}

/** Returns true if a glob may match a path at or below the created one. */
function mayOverlap(pattern: string, created: string): boolean {
  const names = (path: string) => path.split("/").filter((name) => name !== "" && name !== ".");
  const [left, right] = [names(pattern), names(created)];
  if (/^[/~]/.test(pattern) !== /^[/~]/.test(created) || [...left, ...right].includes("..")) return true;
  return right.every((name, index) => left[index] === undefined || mayMatch(left[index], name));
}

function mayMatch(part: string, name: string): boolean {
  const [open, close] = [part.indexOf("["), part.lastIndexOf("]")];
  const withoutSets = open !== -1 && open < close ? `${part.slice(0, open)}*${part.slice(close + 1)}` : part;
  return matchParts(unescapePattern(withoutSets.replaceAll("?", "*")).split("*"), name);
}

/** Returns the paths that a command creates, if they may include symlinks. */
function createdBy(command: SimpleCommand, analysis: ShellAnalysis, context: CreatedPathsContext): Created | undefined {
  const name = programOf(command);
  if (name === "patch") return "anything";
  const copying = copyingBy(command);
  if (name === "git" && copying === undefined) return createdByGit(command, analysis);
  if (copying === undefined || !(copying.keepsLinks || copying.makesLinks)) return undefined;
  const { sources, target, makesLinks, isArchive, isUnclear } = copying;
  const isPlain = (word: ShellWord): boolean =>
    pathsOf(word, { command, analysis })?.every((path) => isPlainFile(context.placeOf(path))) === true;
  // A copy of a regular file is a regular file.
  if (!makesLinks && !isUnclear && sources.every(isPlain)) return undefined;
  const targets = target === undefined ? command.directories : pathsOf(target, { command, analysis });
  if (targets === undefined || isUnclear || targets.some(hasGlob)) return "anything";
  if (isArchive) return targets.some(isHere) ? "anything" : targets;
  return targets.flatMap((path) => {
    if (!isHere(path)) return [path];
    const names = sources.map(({ text, open }) => (open === undefined ? baseName(text) : undefined));
    return names.map((each) => (each === undefined ? "." : path === "" ? each : `${path}/${each}`));
  });
}

function isPlainFile(place: ResolvedPath | undefined): boolean {
  return place !== undefined && place.kind === "file" && place.absolute === place.real;
}

/** Returns the last component of a path; undefined if the path refers to the contents of a directory. */
function baseName(path: string): string | undefined {
  const name = path.split("/").filter(Boolean).at(-1);
  return name === undefined || /^\.{0,2}$/.test(name) ? undefined : name;
}

/** Returns true if a command may write files that it does not name, because a branch, a patch or an archive does. */
export function writesUnnamed(
  command: SimpleCommand,
  analysis: ShellAnalysis,
  isFile: (path: string) => boolean,
): boolean {
  const name = programOf(command);
  if (name === "patch" || copyingBy(command)?.isArchive === true) return true;
  if (name !== "git") return false;
  const created = /^(rm|clean|mv)$/.test(gitSubcommand(command)?.name ?? "")
    ? "anything"
    : createdByGit(command, analysis);
  return created === "anything" || created?.every(isFile) === false;
}

function createdByGit(command: SimpleCommand, analysis: ShellAnalysis): Created | undefined {
  const subcommand = gitSubcommand(command);
  if (subcommand === undefined || !gitCreators.has(subcommand.name)) return undefined;
  const { name, given } = subcommand;
  const operands = given.filter(({ text }) => !text.startsWith("-"));
  // A new branch starts with the current files.
  if (/^(checkout|switch)$/.test(name) && operands.length === 1 && given.some(({ text }) => /^-[bBcC]$/.test(text)))
    return undefined;
  if (name === "stash" && /^(list|show|drop|create|store)$/.test(operands[0]?.text ?? "")) return undefined;
  if (name === "worktree" && !/^(add|move)$/.test(operands[0]?.text ?? "")) return undefined;
  const end = given.findIndex(({ text }) => text === "--");
  const named = end === -1 ? [] : given.slice(end + 1);
  const paths = named.map((word) => pathsOf(word, { command, analysis }));
  if (paths.length === 0 || paths.includes(undefined)) return "anything";
  const all = paths.flatMap((each) => each ?? []);
  return all.some((path) => /[*?[:]/.test(path) || isHere(path)) ? "anything" : all;
}

/** Git commands that write files from the repository, or from a patch, to the work tree. */
const gitCreators = new Set(
  "am apply bisect checkout checkout-index cherry-pick clone merge pull read-tree rebase reset restore revert sparse-checkout stash submodule switch worktree".split(
    " ",
  ),
);

/** Returns the paths that a word names, relative to the workspace; undefined if only the shell can determine them. */
function pathsOf(
  word: ShellWord,
  { command: { directories }, analysis }: { readonly command: SimpleCommand; readonly analysis: ShellAnalysis },
): readonly string[] | undefined {
  const patterns = patternsOf(word, analysis.loopWords);
  if (directories === undefined) return undefined;
  return patterns?.flatMap(({ pattern }) => directories.map((each) => unescapePattern(joinPattern(each, pattern))));
}
