import { wildcardHazard } from "./command-hazards.ts";
import { baseName, looseReadings, simpleWords } from "./shell-words.ts";

/** The specifier of a `Bash(…)` rule. `rest`: any further words (`git log:*`, `npm run test *`). */
export interface CommandPattern {
  readonly words: readonly string[];
  readonly rest: boolean;
  /** False when no simple command can equal it, so that it can only restrict. */
  readonly canAllow: boolean;
}

export function parseCommandPattern(specifier: string): CommandPattern {
  const trimmed = specifier.trim();
  const colon = trimmed.endsWith(":*");
  const rest = colon || /\s\*$/.test(trimmed);
  const text = rest ? trimmed.slice(0, -2).trimEnd() : trimmed;
  // Stars are held as a letter that no plain word has while the words are read.
  const strict = simpleWords(text.replaceAll("*", HELD_STAR))?.map((word) => word.replaceAll(HELD_STAR, "*"));
  if (strict !== undefined && !text.includes(HELD_STAR)) return { words: strict, rest, canAllow: true };
  return { words: looseReadings(text)[0] ?? [], rest, canAllow: false };
}

/** Allows one simple command: word for word, `*` within a word, and what follows where the rule ends in a wildcard. */
export function allowsCommand(pattern: CommandPattern, words: readonly string[], roots: readonly string[]): boolean {
  if (!pattern.canAllow || words.length < pattern.words.length) return false;
  if (!pattern.rest && words.length !== pattern.words.length) return false;
  if (!pattern.words.every((wanted, index) => matchWord(wanted, words[index]!))) return false;
  const open = words.filter((_, index) => pattern.words[index]?.includes("*") ?? true);
  return open.length === 0 || wildcardHazard(words, open, roots) === undefined;
}

/** A restriction holds when its words occur anywhere in any reading of the command; this errs towards restricting. */
export function restrictsCommand(pattern: CommandPattern, readings: readonly (readonly string[])[]): boolean {
  const wanted = pattern.words.map((word) => word.toLowerCase());
  const first = wanted[0];
  if (first === undefined) return true;
  return readings.some((words) =>
    words.some((word, index) => namesOf(word).some((name) => matchWord(first, name)) && follows(wanted, words, index)),
  );
}

/** One reading of the command for each restriction to search in. */
export function readCommand(command: string): readonly (readonly string[])[] {
  return looseReadings(command);
}

const HELD_STAR = "\u{10300}";

/** `/usr/bin/touch`, `X=touch`, `=touch` and `-ctouch` can all mean touch. */
function namesOf(word: string): readonly string[] {
  const value = word.slice(word.lastIndexOf("=") + 1);
  return [word, baseName(word), value, baseName(value), word.replace(/^[!@\-+]+/, "")];
}

/** The other words in order; options (and the value of one) may stand between them, as in `git -C dir push`. */
function follows(wanted: readonly string[], words: readonly string[], start: number): boolean {
  let at = start + 1;
  for (const want of wanted.slice(1)) {
    if (want === "*") continue;
    while (at < words.length && !matchWord(want, words[at]!)) {
      if (words[at]!.startsWith("-"))
        at += at + 1 < words.length && !matchWord(want, words[at + 1]!) && !words[at + 1]!.startsWith("-") ? 2 : 1;
      else if (wanted.includes("*")) at += 1;
      else return false;
    }
    if (at >= words.length) return false;
    at += 1;
  }
  return true;
}

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
