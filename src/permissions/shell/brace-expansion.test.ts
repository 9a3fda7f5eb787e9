import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, it } from "vitest";
import { analyzeCommand } from "./analyze-command.ts";
import { expandBraces } from "./brace-expansion.ts";

it.each([
  ["{a,b}c", ["ac", "bc"]],
  ["{a,{b,c}}{1..2}", ["a1", "a2", "b1", "b2", "c1", "c2"]],
  ["{08..10}", ["08", "09", "10"]],
  ["{3..-1..2}", ["3", "1", "-1"]],
  ["{a\\,b}", ["{a\\,b}"]],
  ["\\{a,b}", ["\\{a,b}"]],
  ["{a},b}", ["a}", "b"]],
  ["{}{a,b}", ["{}a", "{}b"]],
  ["{a,b", ["{a,b"]],
  ["{1..9999999}", undefined],
  ["{a..Z}", undefined],
])("%s", (code, expected) => expect(expandBraces(code)).toEqual(expected));

it("brace expansion does not treat quoted text as braces", () => {
  const text = JSON.stringify({ text: "a".repeat(60_000) });
  expect(analyzeCommand(`echo '${text}'`).obscure).toBeUndefined();
});

it("brace expansion gives up before the result becomes too large", () => {
  for (const word of [
    "{a,b}".repeat(25_000),
    "{1..99999}".repeat(9_000),
    `${"{a,".repeat(20_000)}b${"}".repeat(20_000)}`,
  ])
    expect(analyzeCommand(`echo ${word}`).obscure).toBeTypeOf("string");
  expect(analyzeCommand(`echo ${"{a,b,c,d,e} ".repeat(9_000)}`).obscure).toBeTypeOf("string");
});

it("brace expansion returns the same words as bash", () => {
  const piece = fc.constantFrom(
    ..."{ } , a b 1 - .. {a,b} {1..3} {01..3} {c..a} {3..-1..2} {} \\{ \\, \\} \\a ',' \"}\" '' '{a,b}' 'x y'".split(
      " ",
    ),
    "'x y'",
    "$'{'",
  );
  const word = fc.array(piece, { minLength: 1, maxLength: 9 }).map((pieces) => pieces.join(""));
  const samples = fc.sample(word, { numRuns: 1_500, seed: 11 }).flatMap((text) => {
    const { commands, obscure } = analyzeCommand(`x ${text}`);
    return obscure === undefined ? [{ text, words: commands[0]!.words.slice(1).map((each) => each.text) }] : [];
  });
  expect(samples.length).toBeGreaterThan(1_000);
  const script = samples.map(({ text }) => `x ${text}\nprintf 'END'`).join("\n");
  const output = execFileSync("bash", ["--norc", "--noprofile", "-f"], {
    input: `x() { for word in "$@"; do printf '%s\\0' "$word"; done; }\n${script}\n`,
    encoding: "utf8",
    maxBuffer: 100_000_000,
  });
  const given = output.split("END").slice(0, -1);
  for (const [index, { text, words }] of samples.entries())
    expect([text, words]).toEqual([text, given[index]!.split("\0").slice(0, -1)]);
});
