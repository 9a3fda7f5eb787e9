import type { SimpleCommand } from "./shell-analysis.ts";
import { listedWord, type ShellWord } from "./shell-word.ts";

/**
 * Returns the word that xargs would pass on if it read what the command prints: names of files below a directory.
 * `input` is such a word that the command itself reads. Undefined if the command prints something else.
 */
export function listedFiles(command: SimpleCommand, input: ShellWord | undefined): ShellWord | undefined {
  if (input !== undefined && filtersLines(command)) return input;
  if (!listsFiles(command)) return undefined;
  const [program, start, next] = command.words;
  const isOnlyStart =
    start?.open === undefined && /^[^-(!]/.test(start?.text ?? "") && !/^[^-(!]/.test(next?.text ?? "");
  const directory = program!.text === "find" && isOnlyStart ? start!.text : ".";
  // xargs splits names at blanks, so a piece of a name may look like an option.
  return { ...listedWord(directory), lead: "", below: "lines" };
}

/**
 * Returns true for programs that print names of files below their operands. The operands themselves are judged
 * separately.
 */
function listsFiles({ words }: SimpleCommand): boolean {
  const texts = words.map(({ text }) => text);
  const [program, second] = texts;
  if (program === "find") return !texts.some((text) => /^-(printf|exec|ok|ls)/.test(text));
  if (program === "git") return second === "ls-files" || (second === "diff" && texts.includes("--name-only"));
  if (program === "rg") return texts.some((text) => /^(-[A-Za-z]*l|--files|--files-with-matches)$/.test(text));
  return program === "grep" && texts.some((text) => /^(-(?=[A-Za-z]*l)[A-Za-z]+|--files-with-matches)$/.test(text));
}

/** Returns true for programs that only pass some of the input lines through. */
function filtersLines({ words }: SimpleCommand): boolean {
  const [program, ...given] = words.map(({ text }) => text);
  const operands = given.filter((text) => !/^(-[A-Za-z\d]+|\d+)$/.test(text));
  if (/^(head|tail|sort|uniq)$/.test(program ?? "")) return operands.length === 0;
  return program === "grep" && operands.length === 1 && given.every((text) => /^(-[vivnEFwx]+|[^-].*)$/.test(text));
}
