import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import ts from "typescript";
import { expect, it } from "vitest";
import { testPattern } from "../../src/lib/text/test-pattern.ts";

/** Slow expressions that are applied only to short strings, or only to strings that they match quickly. */
const exempt = new Map([
  [String.raw`\B(?=(\d{3})+$)`, "applied to the digits of a number"],
  [String.raw` \[.*\]$`, "applied to the name of a branch"],
  [String.raw`\([^)]*\)`, "applied to text without unclosed parentheses"],
]);

it("the check finds expressions that need more than linear time", () => {
  const slow = ["\\s+$", "(a+)+$", "\\[[^\\]]*\\]", "^-[a-z]*l[a-z]*$", "x(a|a)*$"];
  const linear = ["(?<!\\s)\\s+$", "(?<!a)a+b", "\\[[^[\\]]*\\]"];
  expect([...slow, ...linear].filter((source) => isSlow({ source, flags: "" }))).toEqual(slow);
});

it("all expressions in the product need linear time, because untrusted text can be long", {
  timeout: 120_000,
}, () => {
  const files = execFileSync("git", ["ls-files", "src/*.ts"], { encoding: "utf8" }).trim().split("\n");
  const own = files.filter((file) => !/\.test(-support)?\.ts$|^src\/testing\//.test(file));
  const found = own.flatMap(expressionsIn).filter(({ source }) => !exempt.has(source));
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
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const found: Expression[] = [];
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit);
    if (!ts.isRegularExpressionLiteral(node)) return;
    const [, source = "", flags = ""] = /^\/(.*)\/([a-z]*)$/s.exec(node.text) ?? [];
    if (!/[*+]|,\}/.test(source)) return;
    const line = tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
    found.push({ source, flags: flags.replace("g", ""), place: `${file}:${line}` });
  };
  visit(tree);
  return found;
}

const LENGTH = 12_000;

/** Tests the expression on long repetitions of the characters and words in its source. */
function isSlow({ source, flags }: Expression): boolean {
  const characters = [...new Set([...literals(source), ..." \n\r\ta0_./<"])];
  const words = source.match(/[A-Za-z<>\-_:!/#`"'&;]{2,}/g) ?? [];
  // A single repetition of one character is slow only if a match can begin at many places, and then nothing has to
  // precede the text. A repeated group can also be slow because it matches the same text in several ways.
  const isSingle = source.match(/[*+]|\{\d/g)?.length === 1 && !/\)[*+{]/.test(source);
  const starts = isSingle ? [""] : ["", ...words, ...characters.slice(0, 8)];
  const texts = [...characters, ...words, ...words.map((word) => `${word} `)].flatMap((unit) => {
    const body = unit.repeat(LENGTH / unit.length);
    return (unit.length === 1 ? starts : [""]).map((start) => `${start}${body}\u0001`);
  });
  const slow = (some: readonly string[]) => takesLong(50 + some.length / 4, { source, flags, texts: some });
  // Test again, because the garbage collector may have run during the first test.
  return slow(texts) && texts.some((text) => slow([text]) && slow([text]));
}

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
