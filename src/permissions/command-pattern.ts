import { wildcardHazard } from "./command-hazards.ts";
import { soleCommand } from "./shell/analyse-command.ts";
import type { CommandUnit } from "./shell/command-units.ts";
import { type LooseReading, looseReadings } from "./shell/loose-readings.ts";
import { isReadOnly } from "./shell/read-only.ts";
import { everyCommand, programOf, type SimpleCommand } from "./shell/shell-analysis.ts";
import type { ShellWord } from "./shell/shell-word.ts";
import type { Place } from "./shell/word-reach.ts";

/** The specifier of a `Bash(…)` rule. `*` stands for anything within a word, alone for any words; `\*` is a plain star. */
export interface CommandPattern {
  /** The whole command line that it allows letter by letter; undefined when it has a wildcard. */
  readonly line: string | undefined;
  /** Word for word as the shell would read it; undefined when it is neither one simple command nor a whole line. */
  readonly exact: readonly string[] | undefined;
  /** As restrictions read words that are known; in small letters, with `*` for wildcards. */
  readonly words: readonly string[];
  /** As loosely as restrictions read text. */
  readonly loose: readonly string[];
  /** The longest piece of the program's name that a restricted command must hold somewhere. */
  readonly trace: string;
  /** Any further words may follow: `git log:*`, `npm run test *`. */
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
  const words = exact?.map((word) => word.replaceAll(WILD, "*").toLowerCase()) ?? loose;
  return {
    line,
    exact: exact ?? (line === undefined ? undefined : []),
    words,
    loose,
    trace: traceOf(words, loose),
    rest,
  };
}

/** Stars are held as letters that no rule has while the words are read. */
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
/** What a wildcard is in the words of a pattern: no command has this character. */
const WILD = "\u0000";

/** Allows one unit: word for word, with its wildcards standing for nothing that nobody meant. */
export function allowsUnit(pattern: CommandPattern, { command, wrappers }: CommandUnit, place: Place): boolean {
  const { exact } = pattern;
  if (exact === undefined || exact.length === 0) return false;
  if ([...wrappers, command].some(({ unsafeVariables }) => unsafeVariables.length > 0)) return false;
  if (allowsWords(pattern, { command, words: command.words, place })) return true;
  // A rule may name the wrapper too, but then it must also name what that runs.
  return wrappers.some(({ words, runs }) => {
    const inner = runs?.at === undefined ? undefined : words.slice(runs.at);
    if (inner === undefined || inner[0] !== command.words[0] || exact.length <= runs!.at!) return false;
    if (exact.slice(0, runs!.at! + 1).some((word) => word.includes(WILD))) return false;
    return allowsWords(pattern, { command, words, place });
  });
}

function allowsWords(
  { exact = [], rest }: CommandPattern,
  { command, words, place }: { command: SimpleCommand; words: readonly ShellWord[]; place: Place },
): boolean {
  const wild = wildWords(exact, words, rest);
  return wild !== undefined && (wild.length === 0 || wildcardHazard(command, wild, place) === undefined);
}

/** The words that wildcards stand for; undefined when the pattern does not match. A star alone takes any number of words. */
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
      // The gap takes one word more, and what follows it is tried again from there.
      fixed.delete(gapEnd);
      gapEnd += 1;
      index = gapEnd;
      at = gap + 1;
    } else return undefined;
  }
  while (isGap(at)) at += 1;
  return at === wanted.length ? words.filter((_, index) => !fixed.has(index)) : undefined;
}

/** A restriction holds when a program that runs is what it names; where arguments could run too, when they mention it. */
export function restrictsUnit({ words, loose, trace }: CommandPattern, unit: CommandUnit): boolean {
  if (words[0] === undefined || loose[0] === undefined) return true;
  // Most commands hold nothing of the program's name; then their words need not be told apart.
  if (!textOf(unit).includes(trace)) return false;
  const { command, wrappers } = unit;
  for (const each of wrappers) if (restrictsWords(words, lowerWords(each))) return true;
  for (const each of everyCommand([command])) {
    if (restrictsWords(words, lowerWords(each))) return true;
    if (!isInert(each) && mentionsProgram(loose, looseTextOf(each))) return true;
  }
  return false;
}

/** For what can't be read: the words occur anywhere in any reading of the text. */
export function restrictsText({ loose }: CommandPattern, readings: readonly LooseReading[]): boolean {
  return loose[0] === undefined || mentionsProgram(loose, readings);
}

function restrictsWords(wanted: readonly string[], words: readonly string[]): boolean {
  const program = baseName(wanted[0]!);
  return namesOf(words[0] ?? "").some((name) => matchStars(program, name)) && follows(wanted, words, 0);
}

function mentionsProgram(loose: readonly string[], readings: readonly LooseReading[]): boolean {
  const program = baseName(loose[0]!);
  const isProgram = (word: string) => namesOf(word).some((name) => matchStars(program, name));
  const trace = traceOf(loose, loose);
  return readings.some((reading) => {
    if (!reading.text.includes(trace)) return false;
    const words = reading.words();
    // With a free gap in the rule, what follows any start follows the first one.
    if (loose.includes("*")) {
      const start = words.findIndex(isProgram);
      return start !== -1 && follows(loose, words, start);
    }
    return words.some((word, start) => isProgram(word) && follows(loose, words, start));
  });
}

const unitTexts = new WeakMap<CommandUnit, string>();

/** Everything in which restrictions look. */
function textOf(unit: CommandUnit): string {
  const known = unitTexts.get(unit);
  if (known !== undefined) return known;
  const pieces = [...unit.wrappers, ...everyCommand([unit.command])].flatMap((each) => [
    lowerWords(each).join(" "),
    ...(isInert(each) ? [] : looseTextOf(each).map((reading) => reading.text)),
  ]);
  const text = pieces.join("\n");
  unitTexts.set(unit, text);
  return text;
}

const lowered = new WeakMap<SimpleCommand, readonly string[]>();
const looseTexts = new WeakMap<SimpleCommand, readonly LooseReading[]>();

function lowerWords(command: SimpleCommand): readonly string[] {
  const known = lowered.get(command);
  if (known !== undefined) return known;
  const words = command.words.map(({ text }) => text.toLowerCase());
  lowered.set(command, words);
  return words;
}

function looseTextOf(command: SimpleCommand): readonly LooseReading[] {
  const known = looseTexts.get(command);
  if (known !== undefined) return known;
  const readings = looseReadings(command.words.map(({ text }) => text).join(" "));
  looseTexts.set(command, readings);
  return readings;
}

function baseName(word: string): string {
  return word.slice(word.lastIndexOf("/") + 1);
}

/** `/usr/bin/touch`, `X=touch`, `=touch` and `-ctouch` can all mean touch. */
function namesOf(word: string): readonly string[] {
  const value = word.slice(word.lastIndexOf("=") + 1);
  return [word, baseName(word), value, baseName(value), word.replace(/^[!@\-+]+/, "")];
}

/** The other words in order; options (and the value of one) may stand between them, as in `git -C dir push`. */
function follows(wanted: readonly string[], words: readonly string[], start: number): boolean {
  const free = wanted.includes("*");
  let at = start + 1;
  let skipped = 0;
  for (const want of wanted.slice(1)) {
    if (want === "*") continue;
    while (at < words.length && !matchStars(want, words[at]!)) {
      const option = words[at]!.startsWith("-");
      if (!free && !option) return false;
      // Nobody writes so many options; not looking further must not let anything through.
      if (!free && ++skipped > 100) return true;
      const value = words[at + 1];
      at += option && value !== undefined && !value.startsWith("-") && !matchStars(want, value) ? 2 : 1;
    }
    if (at >= words.length) return false;
    at += 1;
  }
  return true;
}

/** Programs that run no other program named in their arguments. */
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

/** Parts of a name in their order, anything between them. */
export function matchParts(parts: readonly string[], word: string): boolean {
  const head = parts[0]!;
  const tail = parts.at(-1)!;
  if (word.length < head.length + tail.length || !word.startsWith(head) || !word.endsWith(tail)) return false;
  let at = head.length;
  for (const part of parts.slice(1, -1)) {
    const found = word.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= word.length - tail.length;
}
