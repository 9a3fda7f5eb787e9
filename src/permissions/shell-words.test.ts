import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasHiddenCommand, looseReadings, simpleWords } from "./shell-words.ts";

describe("simpleWords", () => {
  it.each([
    ["npm test", ["npm", "test"]],
    [" a\t'b c'd  ", ["a", "b cd"]],
    [`echo "x; y" ''`, ["echo", "x; y", ""]],
    ["git log HEAD~3 a^b", ["git", "log", "HEAD~3", "a^b"]],
    ["cat ümlaut.txt", ["cat", "ümlaut.txt"]],
  ])("%s", (command, words) => expect(simpleWords(command)).toEqual(words));

  it.each([
    "",
    "  ",
    "''",
    "a;b",
    "a&b",
    "a|b",
    "a>b",
    "a<b",
    "a`b`",
    "a $b",
    'a "$b"',
    'a "`b`"',
    'a "\\$b"',
    "a \\b",
    "a 'b",
    'a "b',
    "a\nb",
    "a\rb",
    "a *",
    "a ?",
    "a [b]",
    "a {b,c}",
    "(a)",
    "a !b",
    "a # b",
    "a ~",
    "a ~/b",
    "a --x=~/b",
    "a x:~/b",
    "X=1 a",
    "a\u3000b",
    "\u00a0a",
    "a \u001b[2K",
  ])("refuses %j", (command) => expect(simpleWords(command)).toBeUndefined());

  it("reads every simple command as bash does", () => {
    const piece = fc.oneof(
      fc.stringMatching(/^[\w./:=,+@%^-]{1,6}$/),
      fc.string({ maxLength: 6 }).map((text) => `'${text.replaceAll("'", "\n")}'`),
      fc.string({ maxLength: 6 }).map((text) => `"${text.replace(/["$`\\!]/g, "é")}"`),
      fc.constantFrom(" ", "\t", "  ", "~", "$x", "*", ";"),
    );
    const command = fc.array(piece, { maxLength: 8 }).map((pieces) => `x ${pieces.join("")}`);
    const samples = fc.sample(command, { numRuns: 300, seed: 7 }).flatMap((text) => {
      const words = simpleWords(text);
      return words === undefined ? [] : [{ text, words }];
    });
    expect(samples.length).toBeGreaterThan(50);
    const script = samples.map(({ text }) => `${text}\nprintf '\\001'\n`).join("");
    const output = execFileSync("bash", ["--norc", "--noprofile"], {
      input: `x() { printf '%s\\0' "$@"; }\n${script}`,
      cwd: "/",
      encoding: "utf8",
    });
    const read = output
      .split("\u0001")
      .slice(0, -1)
      .map((part) => part.split("\0").slice(0, -1));
    // printf gives one empty word when it is given none.
    expect(read.map((words) => (words.length === 0 ? [""] : words))).toEqual(
      samples.map(({ words }) => (words.length === 1 ? [""] : words.slice(1))),
    );
  });
});

describe("looseReadings", () => {
  it.each([
    "t''ouch x",
    't"o"uch x',
    "\\touch x",
    "$'\\x74ouch' x",
    "sh -c'touch x'",
    "to\\\nuch x",
    "{touch,x}",
    "a;touch x",
    "$'\\164ouch' x",
  ])("finds touch in %j", (command) =>
    expect(looseReadings(command).some((reading) => reading.words().includes("touch"))).toBe(true),
  );
});

describe("hasHiddenCommand", () => {
  it.each([
    "$X a",
    "a; $X b",
    '"$X" b',
    "$(x) b",
    "`x` b",
    "/bin/t?uch x",
    "eval x",
    ". ./x",
    "env $X",
    "echo x | sh",
    "xargs sh -c x",
    "A=1 $B",
    "if true; then $X; fi",
    "~/bin/x",
  ])("%s", (command) => expect(hasHiddenCommand(command)).toBe(true));

  it.each([
    "echo $X",
    "for f in *; do echo $f; done",
    "npm test && npm run build",
    "bash -c 'ls'",
    "A=$B make",
    "find . -name '*.ts'",
  ])("not %s", (command) => expect(hasHiddenCommand(command)).toBe(false));
});
