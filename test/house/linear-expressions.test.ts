import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "rolldown/utils";
import { expect, it } from "vitest";
import { testPattern } from "../../src/lib/text/test-pattern.ts";

/** Slow expressions that are applied only to short strings, or only to strings that they match quickly. */
const exempt = new Map([
  [String.raw`\B(?=(\d{3})+$)`, "applied to the digits of a number"],
  [String.raw` \[.*\]$`, "applied to the name of a branch"],
  [String.raw`\([^)]*\)`, "applied to text without unclosed parentheses"],
]);
/** The same for expressions that are too long to repeat here, by their first part. */
const exemptStarts = new Map([[String.raw`<!--[\s\S]*?-->|<(parent|`, "applied to a single page of a file"]]);

function isExempt(source: string): boolean {
  return exempt.has(source) || [...exemptStarts.keys()].some((start) => source.startsWith(start));
}

it("the check finds expressions that need more than linear time", () => {
  const slow = ["\\s+$", "(a+)+$", "\\[[^\\]]*\\]", "^-[a-z]*l[a-z]*$", "x(a|a)*$"];
  const linear = ["(?<!\\s)\\s+$", "(?<!a)a+b", "\\[[^[\\]]*\\]"];
  expect([...slow, ...linear].filter((source) => isSlow({ source, flags: "" }))).toEqual(slow);
});

it("all expressions in the product need linear time, because untrusted text can be long", {
  timeout: 120_000,
}, () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).map((file) => join("src", file));
  const own = files.filter((file) => /\.ts$/.test(file) && !/\.test(-support)?\.ts$|^src\/testing\//.test(file));
  const found = own.flatMap(expressionsIn).filter(({ source }) => !isExempt(source));
  expect(found.length).toBeGreaterThan(300);
  const different = new Map(found.map((each) => [`/${each.source}/${each.flags}`, each]));
  expect([...different.values()].filter(isSlow).map(({ place, source }) => `${place} /${source}/`)).toEqual([]);
});

interface Expression {
  readonly source: string;
  readonly flags: string;
  readonly place?: string;
}

/**
 * Matches a line of code that may contain a regular expression with an unlimited repetition. Files without such a line
 * are not parsed, because parsing all files takes seconds.
 */
const CANDIDATE = /^(?!\s*(?:\*|\/\*|\/\/)).*\/.*(?:[*+]|,\}).*\//m;

/** Returns a file's regular expressions that contain an unlimited repetition. */
function expressionsIn(file: string): Expression[] {
  const text = readFileSync(file, "utf8");
  if (!CANDIDATE.test(text)) return [];
  const { program, errors } = parseSync(file, text);
  expect(errors, file).toEqual([]);
  const found: Expression[] = [];
  new Visitor({
    Literal: (node) => {
      if (!("regex" in node) || !/[*+]|,\}/.test(node.regex.pattern)) return;
      const line = text.slice(0, node.start).split("\n").length;
      const { pattern, flags } = node.regex;
      found.push({ source: pattern, flags: flags.replace("g", ""), place: `${file}:${line}` });
    },
  }).visit(program);
  return found;
}

/** Length of the strings, first for a quick test, and then to confirm what it suspects. */
const LENGTHS = { quick: 6_000, confirm: 30_000 };
/** Number of strings in one quick test. An expression in linear time needs about a millisecond for them. */
const GROUP = 64;

/** Tests the expression on long repetitions of the characters and words in its source. */
function isSlow({ source, flags }: Expression): boolean {
  const repetitions = repetitionsFor(source);
  const takes = (limitMs: number, texts: readonly string[]) => takesLong(limitMs, { source, flags, texts });
  for (let index = 0; index < repetitions.length; index += GROUP) {
    const group = repetitions.slice(index, index + GROUP);
    // Even on a fast machine, quadratic time would be at least ten milliseconds for a single string.
    if (!takes(4, group.map(textOf(LENGTHS.quick)))) continue;
    const texts = group.map(textOf(LENGTHS.confirm));
    // Test again, because the garbage collector may have run during the first test.
    if (takes(50 + texts.length / 4, texts) && texts.some((text) => takes(50, [text]) && takes(50, [text])))
      return true;
  }
  return false;
}

interface Repetition {
  readonly start: string;
  readonly unit: string;
}

function repetitionsFor(source: string): Repetition[] {
  const characters = [...new Set([...literals(source), ..." \n\r\ta0_./<"])];
  const words = source.match(/[A-Za-z<>\-_:!/#`"'&;]{2,}/g) ?? [];
  // An expression that repeats only one character or class is slow only if a match can begin at many positions, and the
  // repeated text alone shows that. Other expressions can be slow only after a certain beginning.
  const isSingle = source.match(/[*+]|\{\d/g)?.length === 1 && !/\)[*+{]/.test(source);
  const starts = isSingle ? [""] : ["", ...words, ...characters.slice(0, 8)];
  return [...characters, ...words, ...words.map((word) => `${word} `)].flatMap((unit) =>
    (unit.length === 1 ? starts : [""]).map((start) => ({ start, unit })),
  );
}

const textOf =
  (length: number) =>
  ({ start, unit }: Repetition): string =>
    `${start}${unit.repeat(length / unit.length)}\u0001`;

/**
 * Removes the operators and escapes of an expression that do not represent a specific character. Keeps character
 * classes in brackets.
 */
function literals(source: string): string {
  return source.replace(/\\[bBdDsSwW]|(\\.|\[(?:\\.|[^\]])*\])|[()*+?|^$]/gs, (_, kept = "") => kept);
}

/**
 * Returns whether a test needs more processor time than the limit. On a busy machine, wall time would be misleading.
 */
function takesLong(limitMs: number, { source, flags, texts }: Expression & { readonly texts: readonly string[] }) {
  const before = process.cpuUsage();
  for (let waitMs = limitMs; ; waitMs *= 2) {
    const isDone = testPattern(source, { texts, flags, limitMs: waitMs }).ok;
    const { user, system } = process.cpuUsage(before);
    if (isDone || user + system > 1_000 * limitMs) return user + system > 1_000 * limitMs;
  }
}
