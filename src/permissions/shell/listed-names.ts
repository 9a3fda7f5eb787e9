import type { SimpleCommand } from "./shell-analysis.ts";

/** Programs whose output is names of files below the places they are given, which are judged for themselves. */
export function isLister({ words }: SimpleCommand): boolean {
  const texts = words.map(({ text }) => text);
  const [program, second] = texts;
  if (program === "find") return !texts.some((text) => /^-(printf|exec|ok|ls)/.test(text));
  if (program === "git") return second === "ls-files" || (second === "diff" && texts.includes("--name-only"));
  if (program === "rg") return texts.some((text) => /^(-[A-Za-z]*l|--files|--files-with-matches)$/.test(text));
  return program === "grep" && texts.some((text) => /^(-[A-Za-z]*l[A-Za-z]*|--files-with-matches)$/.test(text));
}

/** Programs that let some of the lines through, and nothing else. */
export function isPicker({ words }: SimpleCommand): boolean {
  const [program, ...given] = words.map(({ text }) => text);
  const operands = given.filter((text) => !/^(-[A-Za-z\d]+|\d+)$/.test(text));
  if (/^(head|tail|sort|uniq)$/.test(program ?? "")) return operands.length === 0;
  return program === "grep" && operands.length === 1 && given.every((text) => /^(-[vivnEFwx]+|[^-].*)$/.test(text));
}
