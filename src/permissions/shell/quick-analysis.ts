import { createCollector } from "./script-collector.ts";
import type { ShellAnalysis } from "./shell-analysis.ts";
import { fixedWord, type ShellWord } from "./shell-word.ts";

/**
 * The analysis of plain words in plain lists: `ls -la src`, `git status && git log -3 | head`, `npm test 2>&1`.
 * Undefined for everything else, which only the grammar can judge. Most commands are of this kind, and it reads long
 * lists many times faster; that both give the same answer is property-tested.
 */
export function quickAnalysis(text: string): ShellAnalysis | undefined {
  if (text.length > MAX_LENGTH || /[^\P{Cc}\n\t]|\p{Cs}/u.test(text)) return undefined;
  const lists = readList(text);
  if (lists === undefined) return undefined;
  const collector = createCollector();
  for (const words of lists) collector.simple(words);
  return collector.finish(text);
}

/** Lists without structure are read in time up to here. */
const MAX_LENGTH = 2_000_000;

function readList(text: string): readonly (readonly ShellWord[])[] | undefined {
  const token = new RegExp(TOKEN);
  const known = new Map<string, ShellWord>();
  /** The same text is the same command. */
  const commands = new Map<string, readonly ShellWord[]>();
  const lists: (readonly ShellWord[])[] = [];
  let start = 0;
  let words: ShellWord[] = [];
  let word: string | undefined;
  /** An operator that needs a command behind it. */
  let owing = false;
  const endWord = () => {
    if (word === undefined) return;
    let found = known.get(word);
    if (found === undefined) {
      found = fixedWord(word);
      if (known.size < 10_000) known.set(word, found);
    }
    words.push(found);
    word = undefined;
  };
  const endCommand = (end: number): boolean => {
    const source = text.slice(start, end).trim();
    const same = commands.get(source) ?? words;
    if (same === words) {
      if (!isPlainCommand(words)) return false;
      if (source.length < 200) commands.set(source, words);
    }
    lists.push(same);
    words = [];
    return true;
  };
  const run = new RegExp(RUN);
  while (token.lastIndex < text.length) {
    // A command that was read before need not be read again.
    if (words.length === 0 && word === undefined) {
      run.lastIndex = token.lastIndex;
      const [, source = "", operator] = run.exec(text) ?? [];
      const same = commands.get(source.trim());
      if (same !== undefined) {
        lists.push(same);
        start = run.lastIndex;
        token.lastIndex = start;
        owing = operator !== "\n" && operator !== ";";
        continue;
      }
    }
    const match = token.exec(text);
    if (match === null) return undefined;
    const [, blank, plain, single, double, operator] = match;
    if (plain !== undefined) word = (word ?? "") + plain;
    else if (blank !== undefined) endWord();
    else if (operator === undefined) word = (word ?? "") + (single ?? double ?? "");
    else {
      endWord();
      const line = operator === "\n" || operator === ";";
      if (words.length === 0) {
        if (operator !== "\n" || owing) return undefined;
        continue;
      }
      if (!endCommand(match.index)) return undefined;
      start = token.lastIndex;
      owing = !line;
    }
  }
  endWord();
  if (words.length > 0) {
    if (!endCommand(text.length)) return undefined;
  } else if (owing) return undefined;
  return lists.length === 0 ? undefined : lists;
}

// One plain command and the operator behind it.
const RUN = /([A-Za-z0-9_\-./:,+@%^= \t]+)(&&|\|\||\||;|\n)/y;

// Blanks (with redirections that open nothing), plain characters, single-quoted, double-quoted, operators.
const TOKEN =
  /((?:[ \t]|(?<=[ \t])(?:2>&1|[12]?>[ ]?\/dev\/null|&>[ ]?\/dev\/null)(?=[ \t\n;|&]|$))+)|([A-Za-z0-9_\-./:,+@%^=]+)|'([^']*)'|"([^"$`\\!]*)"|(&&|\|\||\||;|\n)/y;

/** Not a word of the grammar, not an assignment, and nothing that the grammar reads in its own way: what xargs gets depends on the pipe. */
function isPlainCommand(words: readonly ShellWord[]): boolean {
  const first = words[0]!.text;
  return first !== "" && !first.includes("=") && !special.has(first);
}

const special = new Set(
  [
    "if then elif else fi for while until do done case esac in select function time coproc",
    "declare typeset local export readonly alias eval let xargs",
  ].flatMap((line) => line.split(" ")),
);
