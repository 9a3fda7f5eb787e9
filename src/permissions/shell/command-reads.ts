import type { DirectoryWalk, ShellPath } from "../../protocol/index.ts";
import { type Copying, copyingBy } from "./copied-files.ts";
import { joinPattern } from "./directory-changes.ts";
import { effectsOf } from "./programs/effects-of.ts";
import { isReadOnly, type ReadOnlyOptions, readOnlyUse } from "./read-only/read-only.ts";
import { programOf, type SimpleCommand } from "./shell-analysis.ts";
import { fixedWord, type ShellWord } from "./shell-word.ts";
import { escapePattern, hasGlob, type LoopWords, pathOf, patternsOf, type WordPattern } from "./word-patterns.ts";

/** A path that a command reads, before symlinks are resolved. */
export interface CommandRead {
  readonly path: string;
  readonly shell: ShellPath;
}

/** Returns a key that identifies a read among all reads of the commands on a line. */
export function readKey({ role, pattern, splits, startsWild, walk }: ShellPath): string {
  return JSON.stringify([role, pattern, splits, startsWild, walk]);
}

export interface CommandReads {
  readonly reads: readonly CommandRead[];
  /** Words that name files which only the shell can determine. Entries for these words in `reads` are guesses. */
  readonly unknown: readonly ShellWord[];
}

/** Returns the files that a read-only command reads. Both lists are empty for other commands. */
export function readsOf(command: SimpleCommand, loops: LoopWords, options: ReadOnlyOptions = {}): CommandReads {
  const paths = readOnlyUse(command, options)?.paths;
  if (paths === undefined) return { reads: [], unknown: [] };
  const walk = walkOf(command);
  const { directories = [""] } = command;
  const reads: CommandRead[] = [];
  const unknown: ShellWord[] = [];
  const words = fileWords(command, paths, walk !== undefined);
  for (const word of words) {
    if (word.isPipe || (word.open === undefined && isNoFile(word.text))) continue;
    const below = word.below && { follows: true, contents: true };
    const found = below === undefined ? namedBy(word, loops) : patternsOf(fixedWord(word.text), loops);
    const isRelative = found?.some(({ pattern }) => !/^[/~]/.test(pattern));
    if (found === undefined || (isRelative && command.directories === undefined)) unknown.push(word);
    for (const each of found ?? []) {
      for (const directory of directories) {
        const read = readIn(directory, each, { role: "argument", walk: below ?? walk });
        if (read === undefined) unknown.push(word);
        else reads.push(read);
      }
    }
  }
  const listed = listedDirectories(command, words, loops);
  return { reads: [...reads, ...listed.reads], unknown: [...unknown, ...listed.unknown] };
}

/** Returns the directories that the shell lists to expand globs in words that do not name files: `echo /root/.*`. */
function listedDirectories(
  { words, directories = [""] }: SimpleCommand,
  files: readonly ShellWord[],
  loops: LoopWords,
): CommandReads {
  const known = new Set(files);
  const others = words.filter((word) => word.open !== undefined && !known.has(word));
  // `~name` is another user's home directory.
  const unknown = others.filter((word) => {
    const isGlob = word.splits && /[*?[]/.test(word.text);
    return isGlob && (patternsOf(word, loops)?.some(({ pattern }) => /^~[^/]/.test(pattern)) ?? true);
  });
  const reads = others.flatMap((word) => {
    const globs = patternsOf(word, loops)?.filter(({ pattern }) => hasGlob(pattern) && pattern.includes("/")) ?? [];
    return globs.flatMap(({ pattern }) => {
      const listed = { pattern: pattern.slice(0, pattern.lastIndexOf("/")) || "/", splits: false };
      return directories.flatMap((each) => readIn(each, listed, { role: "argument", walk: undefined }) ?? []);
    });
  });
  return { reads, unknown };
}

/**
 * Returns the words that name files: the operands, and all words that the shell may split into several, even if the
 * first of the resulting words is not an operand.
 */
function fileWords(command: SimpleCommand, paths: readonly ShellWord[], walks: boolean): readonly ShellWord[] {
  const [program, ...given] = command.words;
  if (/^(echo|printf|true|false|:|exit|return|basename|dirname|expr|seq|which|type)$/.test(program!.text)) return paths;
  const operands = paths.length === 0 && walks ? [fixedWord(".")] : paths;
  return [...operands, ...given.filter((word) => word.splits && !paths.includes(word))];
}

/**
 * Returns the patterns of a word. The value of an option such as `--include=*.ts` is passed to the program unchanged.
 */
function namedBy(word: ShellWord, loops: LoopWords): readonly WordPattern[] | undefined {
  const isValue = word.open === "glob" && /^-/.test(String(word.pieces?.[0])) && !word.text.startsWith("-");
  return isValue ? [{ pattern: escapePattern(word.text), splits: false }] : patternsOf(word, loops);
}

/** Returns true for standard input and for devices that contain no data. */
function isNoFile(text: string): boolean {
  return text === "-" || text === "" || /^\/dev\/(null|stdin|fd\/0)$/.test(text);
}

/** The files that each word of a command may name; undefined for a word whose files are unknown. */
export type CommandOperands = ReadonlyMap<ShellWord, readonly CommandRead[] | undefined>;

/**
 * Returns the files that a command's words may name, if the command may change something. Each word may be a path, and
 * so may the value of an option in the word. There are no entries for commands that only read.
 */
export function operandsOf(command: SimpleCommand, loops: LoopWords): CommandOperands {
  let operands = knownOperands.get(command);
  if (operands === undefined) {
    const words = isReadOnly(command) ? [] : command.words.slice(1);
    const written = writtenWords(command);
    const walkOver = changingWalks(command, written, loops);
    const changed = replacing.has(programOf(command)) ? "replaced" : "target";
    const named = (word: ShellWord) =>
      filesOf(word, command, { loops, walk: walkOver(word), role: written.has(word) ? changed : "operand" });
    const files = new Map(words.map((word) => [word, named(word)]));
    const add = (word: ShellWord, more: readonly CommandRead[] | undefined) => {
      const known = files.get(word);
      files.set(word, known && more && [...known, ...more]);
    };
    // The value of an option may be part of a word in a way that only the argument model understands: `-czfarchive`.
    for (const effect of words.length === 0 ? [] : effectsOf(command)) {
      const word = command.words[effect.at]!;
      if ("word" in effect && effect.word !== undefined && effect.word !== word) add(word, named(effect.word));
    }
    for (const [source, copies] of words.length === 0 ? [] : copiesOf(command, loops))
      add(source, filesIn(copies, command, { role: changed, walk: undefined }));
    operands = files;
    knownOperands.set(command, operands);
  }
  return operands;
}

const knownOperands = new WeakMap<SimpleCommand, CommandOperands>();

/** Returns the words that name files which the command writes, replaces or removes. */
function writtenWords(command: SimpleCommand): ReadonlySet<ShellWord> {
  const written = effectsOf(command).flatMap((effect) => (effect.kind === "write" ? [effect.word] : []));
  return new Set(programOf(command) === "mv" ? command.words : written);
}

/** Programs that replace or remove files instead of changing their contents. */
const replacing = new Set("rm rmdir unlink mv ln".split(" "));

/** Returns the names that the copy of each source has if the destination is a directory. */
function copiesOf(
  command: SimpleCommand,
  loops: LoopWords,
): readonly (readonly [ShellWord, readonly WordPattern[] | undefined])[] {
  const { sources = [], target } = copyingBy(command) ?? {};
  const places = target && patternsOf(target, loops);
  return (places === undefined ? [] : sources).map((source) => {
    const named = patternsOf(source, loops)?.flatMap(({ pattern, splits }) => {
      const name = /[^/]+(?=\/*$)/.exec(pattern)?.[0];
      return name === undefined ? [] : places!.map((place) => ({ pattern: joinPattern(place.pattern, name), splits }));
    });
    return [source, named];
  });
}

function filesOf(
  word: ShellWord,
  command: SimpleCommand,
  { loops, ...found }: { readonly loops: LoopWords } & Pick<ShellPath, "role" | "walk">,
): readonly CommandRead[] | undefined {
  return filesIn(word.below === undefined && !word.isPipe ? patternsOf(word, loops) : undefined, command, found);
}

function filesIn(
  patterns: readonly WordPattern[] | undefined,
  { directories }: SimpleCommand,
  found: Pick<ShellPath, "role" | "walk">,
): readonly CommandRead[] | undefined {
  const files: CommandRead[] = [];
  for (const { pattern, splits } of patterns ?? []) {
    for (const path of valuesIn(pattern).map(withoutControls).filter(isPathLike)) {
      if (directories === undefined && !/^[/~]/.test(path)) return undefined;
      for (const directory of directories ?? [""]) {
        const file = readIn(directory, { pattern: path, splits }, found);
        if (file !== undefined) files.push(file);
      }
    }
  }
  return patterns && files;
}

/**
 * Returns the parts of a word that may be paths: the word itself, the text after `=`, and the text after each of the
 * letters in `-xyz`, because any of them may be an option with a value.
 */
function valuesIn(pattern: string): readonly string[] {
  const value = /^-{0,2}\w[\w-]*=(.*)$/s.exec(pattern)?.[1];
  const letters = /^-(\w{1,6})/.exec(pattern)?.[1] ?? "";
  const glued = [...letters].map((_, index) => pattern.slice(index + 2));
  return [pattern.startsWith("-") ? undefined : pattern, value, ...glued].filter((each) => each !== undefined);
}

/** Replaces a path with its directory if its name contains a control character, because decisions reject such paths. */
function withoutControls(pattern: string): string {
  return pattern.replace(/[^/]*\p{Cc}.*$/su, "");
}

function isPathLike(pattern: string): boolean {
  return pattern !== "" && !/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(pattern);
}

/**
 * Returns a function that says how a command that changes or copies files traverses the directory that a word names.
 * For an archive, the destination is traversed, because files in it may be replaced.
 */
function changingWalks(
  command: SimpleCommand,
  written: ReadonlySet<ShellWord>,
  loops: LoopWords,
): (word: ShellWord) => DirectoryWalk | undefined {
  const name = programOf(command);
  const copying = copyingBy(command);
  if (!copiers.has(name) || (name === "git" && copying === undefined))
    return (word) => (written.has(word) ? { follows: false, contents: false, changes: true } : undefined);
  const isOld = /tar$/.test(name) && /^[A-Za-z]*h/.test(command.words[1]?.text ?? "");
  const follows = isOld || command.words.some(({ text }) => /^-[^-]*[LhH]|^--(copy-links|deref)/.test(text));
  const walk = { follows: follows || name === "zip" || name === "scp", contents: true };
  const writes = (word: ShellWord): boolean => {
    if (copying === undefined || !copying.isRecursive) return false;
    return copying.isArchive ? copying.target?.text === word.text : copying.sources.includes(word);
  };
  const changes = name === "mv" || name === "git" ? true : undefined;
  return (word) => (writes(word) ? { ...walk, writes: true, changes, into: placesOf(copying!, command, loops) } : walk);
}

/** Returns the patterns of the place to which a command copies files. */
function placesOf({ target }: Copying, { directories = [] }: SimpleCommand, loops: LoopWords): readonly string[] {
  const places = (target && patternsOf(target, loops)) ?? [];
  return places.flatMap(({ pattern }) => directories.map((each) => joinPattern(each, pattern) || "."));
}

const copiers = new Set("git cp mv tar gtar bsdtar zip unzip rsync scp 7z 7za 7zr cpio".split(" "));

/** Describes how a pattern in a directory is read; undefined if the pattern can't be the path of a file. */
function readIn(
  directory: string,
  word: WordPattern,
  { role, walk }: Pick<ShellPath, "role" | "walk">,
): CommandRead | undefined {
  const pattern = joinPattern(directory, word.pattern);
  const path = pathOf(pattern);
  if (!isUsable(path)) return undefined;
  // The workspace has to expand globs and determine what `..` means after a symlink.
  const isPending = hasGlob(pattern) || /(^|\/)\.\.(\/|$)/.test(path.replace(/^(\.\.\/)+(?=[^.])/, ""));
  const state = isPending ? "pending" : undefined;
  const startsWild = /^[*?[-]/.test(word.pattern);
  return { path, shell: { role, pattern, state, splits: word.splits, startsWild, walk } };
}

function isUsable(path: string): boolean {
  return (
    path.length < 4_000 &&
    !/\p{Cc}/u.test(path) &&
    !/^[A-Za-z][A-Za-z0-9+.-]*:\/\/|^\\/.test(path) &&
    path.split("/").every((name) => name.length <= 255)
  );
}

/** Returns how the command traverses directories; undefined if it does not, or if it only lists names. */
function walkOf(command: SimpleCommand): DirectoryWalk | undefined {
  const name = programOf(command);
  const options = command.words.slice(1).flatMap(({ text }) => (text.startsWith("-") ? [text] : []));
  const has = (pattern: RegExp) => options.some((option) => pattern.test(option));
  switch (name) {
    case "grep":
    case "egrep":
    case "fgrep": {
      const follows = has(/^-[^-]*R|^--deref/);
      return follows || has(/^-[^-]*[rd]|^--(rec|dir)/) ? { follows, contents: true } : undefined;
    }
    case "rg":
      // Globs, types and ignore files can make rg search hidden files too.
      return { follows: has(/^-[^-]*L|^--fo/), contents: !has(/^--files$/) };
    case "diff":
      // Given two directories, diff compares their files even without -r.
      return { follows: true, contents: true };
    case "find":
      return has(/^-L$|^-follow$/) ? { follows: true, contents: false } : undefined;
    case "ls":
    case "dir":
    case "du":
    case "fd":
      return has(/^-[^-]*L|^--(dereference$|follow)/) ? { follows: true, contents: false } : undefined;
    case "tree":
      return has(/^-[^-]*l/) ? { follows: true, contents: false } : undefined;
    default:
      return undefined;
  }
}
