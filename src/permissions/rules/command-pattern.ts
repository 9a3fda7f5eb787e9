import { matchParts } from "../../lib/index.ts";
import { soleCommand } from "../shell/analyze-command.ts";
import { type LooseReading, looseReadings, separateGit } from "../shell/loose-readings.ts";
import { programs } from "../shell/programs/effects-of.ts";
import { isSameNpmCommand } from "../shell/programs/languages.ts";
import { isReadOnly } from "../shell/read-only/read-only.ts";
import { type CommandUnit, everyCommand, programOf, type SimpleCommand } from "../shell/shell-analysis.ts";
import type { ShellWord } from "../shell/shell-word.ts";
import { escapePattern } from "../shell/word-patterns.ts";
import { type ArgumentContext, launchers, wildcardHazard } from "./command-hazards.ts";
import { gitHazard } from "./git-hazards.ts";

/**
 * The specifier of a `Bash(…)` rule. `*` matches any characters within a word; on its own, it matches any words. `\*`
 * is a literal star.
 */
export interface CommandPattern {
  /** Command line that the pattern allows literally; undefined if the pattern has a wildcard. */
  readonly line: string | undefined;
  /** Words as the shell would read them; undefined if the pattern is neither one simple command nor a literal line. */
  readonly exact: readonly string[] | undefined;
  /** Words of a restriction, to compare with the known words of a command: in lower case, with `*` for wildcards. */
  readonly words: readonly string[];
  /** Words of a restriction, to search for in text that can't be split into words reliably. */
  readonly loose: readonly string[];
  /** Longest literal piece of the program's name. Every command that the pattern restricts contains this piece. */
  readonly trace: string;
  /** True if more words may follow, as in `git log:*` or `npm run test *`. */
  readonly rest: boolean;
}

export function parseCommandPattern(specifier: string): CommandPattern {
  const trimmed = specifier.trim();
  const rest = trimmed.endsWith(":*") || /\s\*$/.test(trimmed);
  const text = rest ? trimmed.slice(0, -2).trimEnd() : trimmed;
  const hasWildcard = rest || /(^|[^\\])\*/.test(text);
  const line = hasWildcard ? undefined : text.replaceAll("\\*", "*");
  const exact = patternWords(text);
  const loose = looseReadings(text)[0]?.words() ?? [];
  const words = separated(exact?.map((word) => word.replaceAll(WILD, "*").toLowerCase()) ?? loose);
  return {
    line,
    exact: exact ?? (line === undefined ? undefined : []),
    words,
    loose,
    trace: traceOf(words, loose),
    rest,
  };
}

/** Returns the shell words of a pattern. Stars are replaced with placeholders while the words are parsed. */
function patternWords(text: string): readonly string[] | undefined {
  if (text.includes(HELD)) return undefined;
  const only = soleCommand(text.replaceAll("\\*", `${HELD}p`).replaceAll("*", `${HELD}w`));
  return only?.words.map((word) => word.text.replaceAll(`${HELD}w`, WILD).replaceAll(`${HELD}p`, "*"));
}

function traceOf(words: readonly string[], loose: readonly string[]): string {
  const [first = "", second = first] = [words[0], loose[0]].map((word = "") => baseName(word));
  if (first !== second) return "";
  return first.split("*").reduce((longest, part) => (part.length > longest.length ? part : longest), "");
}

const HELD = "x0Star0x";
/** Represents a wildcard in the words of a pattern. No command contains this character. */
const WILD = "\u0000";

/** Returns true if the pattern matches the command word for word and its wildcards cover no hazardous arguments. */
export function allowsUnit(
  pattern: CommandPattern,
  { command, wrappers }: CommandUnit,
  context: ArgumentContext,
): boolean {
  const { exact } = pattern;
  if (exact === undefined || exact.length === 0) return false;
  // In another directory, or with other input, the same words may do something else.
  if (pattern.line !== undefined && (command.isFed || !isAtRoot(command, context.roots))) return false;
  if ([...wrappers, command].some(({ unsafeVariables }) => unsafeVariables.length > 0)) return false;
  if (allowsWords(pattern, { command, words: command.words, context })) return true;
  // A rule that names the wrapper must also name the command that the wrapper runs.
  return wrappers.some(({ words, runs }) => {
    const inner = runs?.at === undefined ? undefined : words.slice(runs.at);
    if (inner === undefined || inner[0] !== command.words[0] || exact.length <= runs!.at!) return false;
    if (exact.slice(0, runs!.at! + 1).some((word) => word.includes(WILD))) return false;
    return allowsWords(pattern, { command, words, context });
  });
}

/** Returns true for a program that may run what it reads. */
function launches([program]: readonly ShellWord[]): boolean {
  return launchers.has(baseName(program!.text));
}

/** Returns true if the command certainly runs in the workspace's own directory. */
function isAtRoot({ directories }: SimpleCommand, [root = ""]: readonly string[]): boolean {
  return directories?.every((directory) => directory === "" || directory === escapePattern(root)) === true;
}

function allowsWords(
  { exact = [], line, rest }: CommandPattern,
  { command, words, context }: { command: SimpleCommand; words: readonly ShellWord[]; context: ArgumentContext },
): boolean {
  const wild = wildWords(exact, words, rest);
  if (wild === undefined) return false;
  // Even `git push` alone, under the rule `git push:*`, uses a remote that the rule does not name.
  if (line === undefined && gitHazard(command, wild, context.repositories) !== undefined) return false;
  if (wild.length === 0) return !(command.isFed && launches(words));
  const namesUrl = exact.some((word) => word.includes("://"));
  return wildcardHazard(command, { wild, namesUrl }, context) === undefined;
}

/**
 * Returns the words that wildcards match; undefined if the pattern does not match. A star that is a whole word matches
 * any number of words.
 */
function wildWords(
  pattern: readonly string[],
  words: readonly ShellWord[],
  rest: boolean,
): readonly ShellWord[] | undefined {
  const wanted = rest ? [...pattern, WILD] : pattern;
  const isGap = (index: number) => index > 0 && wanted[index] === WILD;
  const fixed = new Set<number>();
  let at = 0;
  let gap = -1;
  let gapEnd = 0;
  for (let index = 0; index < words.length; ) {
    if (at < wanted.length && !isGap(at) && matchWord(wanted[at]!, words[index]!)) {
      if (wanted[at]!.includes(WILD)) fixed.delete(index);
      else fixed.add(index);
      at += 1;
      index += 1;
    } else if (isGap(at)) {
      gap = at;
      gapEnd = index;
      at += 1;
    } else if (gap !== -1) {
      // Extend the gap by one word and retry the rest of the pattern from there.
      fixed.delete(gapEnd);
      gapEnd += 1;
      index = gapEnd;
      at = gap + 1;
    } else return undefined;
  }
  while (isGap(at)) at += 1;
  return at === wanted.length ? words.filter((_, index) => !fixed.has(index)) : undefined;
}

/** A command in the forms that restrictions are matched against. Created once for all rules. */
export interface SearchableUnit {
  readonly wrappers: readonly SearchableWrapper[];
  readonly commands: readonly { readonly words: readonly string[]; readonly readings: readonly LooseReading[] }[];
  /** The text of all commands that restrictions are matched against, in lower case. */
  readonly text: string;
}

interface SearchableWrapper {
  readonly words: readonly string[];
  /** Variables that the wrapper sets for the command that it runs. */
  readonly readings: readonly LooseReading[];
  readonly text: string;
  readonly restrictedBy: Map<CommandPattern, boolean>;
}

export function searchableUnit({ command, wrappers }: CommandUnit): SearchableUnit {
  const commands = [...everyCommand([command])].map((each) => {
    const given = isInert(each)
      ? []
      : [each.words.map(({ text }) => text).join(" "), evaluatesInput(each) ? each.input : undefined];
    const texts = [...given, ...(each.settings ?? [])].filter((text) => text !== undefined && text !== "");
    return { words: lowerWords(each), readings: texts.flatMap((text) => looseReadings(text!)) };
  });
  const pieces = commands.map(({ words }) => words.join(" "));
  const loose = commands.flatMap(({ readings }) => readings.map(({ text }) => text));
  return { wrappers: wrappers.map(searchableWrapper), commands, text: [...pieces, ...loose].join("\n") };
}

/** Caches prepared wrappers, because one wrapper such as `find` may run thousands of commands. */
const searchableWrappers = new WeakMap<SimpleCommand, SearchableWrapper>();

function searchableWrapper(wrapper: SimpleCommand): SearchableWrapper {
  let searchable = searchableWrappers.get(wrapper);
  if (searchable === undefined) {
    const words = lowerWords(wrapper);
    const settings = wrapper.words.slice(1, wrapper.runs?.at ?? 1).filter(({ text }) => text.includes("="));
    const texts = [...settings.map(({ text }) => text), ...(wrapper.settings ?? [])];
    const readings = texts.flatMap((text) => looseReadings(text));
    const text = [words.join(" "), ...readings.map((reading) => reading.text)].join("\n");
    searchable = { words, readings, text, restrictedBy: new Map() };
    searchableWrappers.set(wrapper, searchable);
  }
  return searchable;
}

function lowerWords({ words }: SimpleCommand): readonly string[] {
  return separated(words.map(({ text }) => text.toLowerCase()));
}

function separated(words: readonly string[]): readonly string[] {
  return words.flatMap((word, index) => (index === 0 ? separateGit(word) : [word]));
}

/** Returns true if the command runs the restricted program, or if arguments that could run a program mention it. */
export function restrictsUnit(pattern: CommandPattern, unit: SearchableUnit): boolean {
  const { words, loose, trace } = pattern;
  if (words[0] === undefined || loose[0] === undefined) return true;
  if (unit.wrappers.some((each) => restrictsWrapper(pattern, each))) return true;
  // Most commands do not contain the program's name, so their words need not be compared.
  if (!unit.text.includes(trace)) return false;
  return unit.commands.some((each) => restrictsWords(words, each.words) || mentionsProgram(loose, each.readings));
}

function restrictsWrapper(pattern: CommandPattern, wrapper: SearchableWrapper): boolean {
  const { words, readings, text, restrictedBy } = wrapper;
  let isRestricted = restrictedBy.get(pattern);
  if (isRestricted === undefined) {
    isRestricted =
      text.includes(pattern.trace) &&
      (restrictsWords(pattern.words, words) || mentionsProgram(pattern.loose, readings));
    restrictedBy.set(pattern, isRestricted);
  }
  return isRestricted;
}

/**
 * Returns true if the words of the pattern occur in any interpretation of the text. Used for lines that can't be
 * analyzed.
 */
export function restrictsText({ loose }: CommandPattern, readings: readonly LooseReading[]): boolean {
  return loose[0] === undefined || mentionsProgram(loose, readings);
}

function restrictsWords(wanted: readonly string[], words: readonly string[]): boolean {
  const program = baseName(wanted[0]!);
  return namesOf(words[0] ?? "").some((name) => matchStars(program, name)) && follows(wanted, words, 0);
}

function mentionsProgram(loose: readonly string[], readings: readonly LooseReading[]): boolean {
  const program = baseName(loose[0]!);
  const isProgram = (word: string) => [...namesOf(word), ...gluedTo(word)].some((name) => matchStars(program, name));
  const trace = traceOf(loose, loose);
  return readings.some((reading) => {
    if (!reading.text.includes(trace)) return false;
    const words = reading.words();
    // If the rule has a wildcard word, only the first occurrence of the program needs checking: all later words follow
    // it.
    if (loose.includes("*")) {
      const start = words.findIndex(isProgram);
      return start !== -1 && follows(loose, words, start);
    }
    return words.some((word, start) => isProgram(word) && follows(loose, words, start));
  });
}

function baseName(word: string): string {
  return word.slice(word.lastIndexOf("/") + 1);
}

/**
 * Returns the names that a word can refer to: `/usr/bin/touch`, `X=touch`, `=touch`, `X=!touch` and `EXEC:touch` can
 * all mean touch.
 */
function namesOf(word: string): readonly string[] {
  const values = [word.slice(word.lastIndexOf("=") + 1), word.slice(word.lastIndexOf(":") + 1)];
  const plain = [word, ...values].map((each) => each.replace(/^[!@~\-+]+/, ""));
  return [word, ...values, ...plain].flatMap((each) => [each, baseName(each)]);
}

/** Returns the values that option letters can have in the same word: `-qctouch` can mean touch. */
function gluedTo(word: string): readonly string[] {
  return /^-[a-z]/.test(word) ? [2, 3, 4].map((length) => word.slice(length)) : [];
}

/**
 * Returns true if the remaining words follow in order. Options and their values may come between them, as in `git -C
 * dir push`.
 */
function follows(wanted: readonly string[], words: readonly string[], start: number): boolean {
  const free = wanted.includes("*");
  let at = start + 1;
  let skipped = 0;
  const synonyms = synonymsOf(wanted[0]!);
  for (const [index, want] of wanted.slice(1).entries()) {
    if (want === "*") continue;
    const matches = (word: string) => matchStars(want, word) || (index === 0 && synonyms(want, word));
    while (at < words.length && !matches(words[at]!)) {
      const option = words[at]!.startsWith("-");
      if (!free && !option) return false;
      // No real command has this many options. Stop searching and apply the restriction.
      if (!free && ++skipped > 100) return true;
      const value = words[at + 1];
      at += option && value !== undefined && !value.startsWith("-") && !matches(value) ? 2 : 1;
    }
    if (at >= words.length) return false;
    at += 1;
  }
  return true;
}

/** Returns a function that tells whether two words name the same subcommand of a program. */
function synonymsOf(program: string): (left: string, right: string) => boolean {
  if (baseName(program) === "npm") return isSameNpmCommand;
  return baseName(program) === "git" ? (want, word) => gitPlumbing.get(word) === want : () => false;
}

/** Maps git's plumbing commands to the commands that they implement, such as `send-pack` to `push`. */
const gitPlumbing = new Map([
  ["send-pack", "push"],
  ["http-push", "push"],
  ["fetch-pack", "fetch"],
  ["http-fetch", "fetch"],
  ["commit-tree", "commit"],
]);

/** Returns true if a program may run its input as code. Other known programs treat their input as data. */
function evaluatesInput(command: SimpleCommand): boolean {
  const name = programOf(command);
  if (!programs.has(name) || launchers.has(name)) return true;
  return command.words.some(({ text }) => /^(-[a-zA-Z]*f|--file|--expression|\/dev\/)/.test(text));
}

/** Returns true for programs that do not run a program named in their arguments. */
function isInert(command: SimpleCommand): boolean {
  if (isReadOnly(command)) return true;
  const [program, second] = command.words;
  if (program!.open !== undefined) return false;
  const name = programOf(command);
  if (name === "git") return second?.open === undefined && inertGitCommands.has(second?.text ?? "");
  return inertPrograms.has(name) || command.runs?.transparent === true;
}

const inertPrograms = new Set(
  "echo printf cat head tail wc ls grep egrep fgrep pwd true false mkdir rmdir rm touch chmod cut diff stat".split(" "),
);
const inertGitCommands = new Set(
  "status log show add commit rm mv branch tag restore switch checkout ls-files diff".split(" "),
);

function matchWord(pattern: string, { text, open }: ShellWord): boolean {
  return pattern.includes(WILD) ? matchParts(pattern.split(WILD), text) : open === undefined && text === pattern;
}

function matchStars(pattern: string, word: string): boolean {
  return pattern.includes("*") ? matchParts(pattern.split("*"), word) : pattern === word;
}
