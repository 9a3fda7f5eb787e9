import { wildcardHazard } from "./command-hazards.ts";
import { baseName, type LooseReading, looseReadings, simpleWords } from "./shell-words.ts";

/** The specifier of a `Bash(…)` rule. */
export interface CommandPattern {
  /** Word for word as the shell would read it; undefined when no simple command can equal it, so that it can only restrict. */
  readonly exact: readonly string[] | undefined;
  /** As loosely as restrictions read commands. */
  readonly loose: readonly string[];
  /** Any further words may follow: `git log:*`, `npm run test *`. */
  readonly rest: boolean;
}

export function parseCommandPattern(specifier: string): CommandPattern {
  const trimmed = specifier.trim();
  const rest = trimmed.endsWith(":*") || /\s\*$/.test(trimmed);
  const text = rest ? trimmed.slice(0, -2).trimEnd() : trimmed;
  // Stars are held as a letter that no rule has while the words are read.
  const held = text.includes(HELD_STAR) ? undefined : simpleWords(text.replaceAll("*", HELD_STAR));
  return {
    exact: held?.map((word) => word.replaceAll(HELD_STAR, "*")),
    loose: looseReadings(text)[0]?.words() ?? [],
    rest,
  };
}

/** Allows one simple command: word for word, `*` within a word, and what follows where the rule ends in a wildcard. */
export function allowsCommand(pattern: CommandPattern, words: readonly string[], roots: readonly string[]): boolean {
  const { exact, rest } = pattern;
  if (exact === undefined || words.length < exact.length || (!rest && words.length !== exact.length)) return false;
  if (!exact.every((wanted, index) => matchWord(wanted, words[index]!))) return false;
  const open = words.filter((_, index) => exact[index]?.includes("*") ?? true);
  return open.length === 0 || wildcardHazard(words, open, roots) === undefined;
}

/** What restrictions search in. */
export interface CommandReading {
  readonly readings: readonly LooseReading[];
  /** Only the first word can be a program: the command is simple, and of a kind that runs nothing else. */
  readonly headOnly: boolean;
}

export function readCommand(command: string): CommandReading {
  const words = simpleWords(command);
  return { readings: looseReadings(command), headOnly: words !== undefined && isInert(words) };
}

/** A restriction holds when its words occur anywhere in any reading of the command; this errs towards restricting. */
export function restrictsCommand({ loose }: CommandPattern, { readings, headOnly }: CommandReading): boolean {
  const first = loose[0];
  if (first === undefined) return true;
  const program = baseName(first);
  const isProgram = (word: string) => namesOf(word).some((name) => matchWord(program, name));
  // Most commands hold nothing of the program's name; then their words need not be told apart.
  const trace = program.split("*").reduce((longest, part) => (part.length > longest.length ? part : longest), "");
  return readings.some((reading) => {
    if (!reading.text.includes(trace)) return false;
    const words = reading.words();
    const starts = headOnly ? words.slice(0, 1) : words;
    // With a free gap in the rule, what follows any start follows the first one.
    if (loose.includes("*")) {
      const start = starts.findIndex(isProgram);
      return start !== -1 && follows(loose, words, start);
    }
    return starts.some((word, start) => isProgram(word) && follows(loose, words, start));
  });
}

const HELD_STAR = "\u{10300}";

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
    while (at < words.length && !matchWord(want, words[at]!)) {
      const option = words[at]!.startsWith("-");
      if (!free && !option) return false;
      // Nobody writes so many options; not looking further must not let anything through.
      if (!free && ++skipped > 100) return true;
      const value = words[at + 1];
      at += option && value !== undefined && !value.startsWith("-") && !matchWord(want, value) ? 2 : 1;
    }
    if (at >= words.length) return false;
    at += 1;
  }
  return true;
}

/** Programs that run no other program named in plain arguments. */
function isInert(words: readonly string[]): boolean {
  const [name = "", command = ""] = words;
  return inertPrograms.has(name) || (name === "git" && inertGitCommands.has(command));
}

const inertPrograms = new Set(
  "echo printf cat head tail wc ls grep egrep fgrep pwd true false mkdir cut diff stat".split(" "),
);
const inertGitCommands = new Set(
  "status log show add commit rm mv branch tag restore switch checkout ls-files".split(" "),
);

function matchWord(pattern: string, word: string): boolean {
  if (!pattern.includes("*")) return pattern === word;
  const parts = pattern.split("*");
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
