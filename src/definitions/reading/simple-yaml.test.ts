import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { samples } from "./definition.test-support.ts";
import { readSimpleYaml } from "./simple-yaml.ts";
import { splitFrontmatter } from "./split-frontmatter.ts";
import { loadYamlReader } from "./strict-yaml.ts";

const readYaml = await loadYamlReader();

/** Undefined when the simple reader gives up; that is always allowed. */
function compare(source: string): "given up" | "same" {
  const simple = readSimpleYaml(source, { firstLine: 1 });
  if (simple === undefined) return "given up";
  const strict = readYaml(source, 1);
  if (strict.kind !== "fields")
    throw new Error(`only the simple reader reads ${JSON.stringify(source)}: ${strict.message}`);
  const essence = ({ key, value, line }: { key: string; value: unknown; line: number }) => ({ key, value, line });
  expect(simple.map(essence), JSON.stringify(source)).toEqual(strict.fields.map(essence));
  return "same";
}

const odd = fc.constantFrom(
  ..."b: #d -e 'f' \"g\" [h] {i: j} *k &l !m %n @o `p ~ null true False 1 1.5 1e3 0x1f 007 .5 -3 1.0.0 2026-01-02 x:y z, ü 日本 | > - ? : # , \\n ''".split(
    " ",
  ),
);
const word = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom("a", "Read", "it's", "one-two") },
  { weight: 1, arbitrary: odd },
);
const words = fc.array(word, { maxLength: 5 }).map((list) => list.join(" "));
const scalar = fc.oneof(
  words,
  words.map((text) => `"${text}"`),
  words.map((text) => `'${text}'`),
  fc.array(words, { maxLength: 3 }).map((list) => `[${list.join(", ")}]`),
  fc.constantFrom("|", ">", "|-", ">-", "|+", ">2", ""),
);
const indent = fc.constantFrom("", "", "", " ", "  ", "  ", "    ");
const line = fc.oneof(
  fc
    .tuple(indent, fc.constantFrom(..."a b c d e f g name tools null x-y".split(" ")), scalar)
    .map(([space, key, value]) => `${space}${key}: ${value}`),
  fc.tuple(indent, scalar).map(([space, value]) => `${space}- ${value}`),
  fc.tuple(indent, words).map(([space, text]) => `${space}${text}`),
  fc.constantFrom("", " ", "   ", "a:", "  b:", "# note", "  # note"),
);

const plain = fc.array(word, { minLength: 1, maxLength: 3 }).map((list) => list.join(" "));
const deeper = fc.constantFrom(" ", "  ", "    ");
const below = fc.oneof(
  fc
    .tuple(fc.constantFrom("", "  "), fc.array(plain, { minLength: 1, maxLength: 3 }))
    .map(([space, items]) => items.map((item) => `${space}- ${item}`)),
  fc
    .tuple(deeper, fc.array(plain, { maxLength: 3 }))
    .map(([space, lines]) => lines.map((text, index) => `${space}k${index}: ${text}`)),
  fc
    .tuple(deeper, plain)
    .map(([space, text]) => [`${space}inner:`, `${space}- ${text}`, `${space}  - ${text}`].slice(0, 2)),
);
const scalarLines = fc.tuple(deeper, fc.array(fc.oneof(plain, fc.constant(""), fc.constant("  x")), { maxLength: 4 }));
const inline = fc
  .array(
    fc.oneof(
      plain,
      plain.map((text) => `"${text}"`),
      fc.constantFrom("a:b", "/c", ""),
    ),
    { maxLength: 4 },
  )
  .chain((items) => fc.tuple(fc.constant(items), fc.constantFrom(", ", ",\n  ", " ,\n    ", ",\n", ",\n\n  ")))
  .map(([items, comma]) => `[${items.join(comma)}]`.split("\n"));
const block = fc.oneof(
  inline.map(([first = "", ...lines]) => [` ${first}`, ...lines]),
  inline.map((lines) => ["", ...lines.map((text) => `  ${text}`)]),
  scalar.map((value) => [` ${value}`]),
  plain.map((value) => [` ${value}`]),
  below.map((lines) => ["", ...lines]),
  fc
    .tuple(fc.constantFrom(" |", " >", " |-", " >-"), scalarLines)
    .map(([head, [space, lines]]) => [head, ...lines.map((text) => (text === "" ? "" : `${space}${text}`))]),
  fc
    .tuple(plain, scalarLines)
    .map(([first, [space, lines]]) => [` ${first}`, ...lines.map((text) => `${space}${text}`)]),
);
const document = fc
  .array(block, { minLength: 1, maxLength: 5 })
  .map((blocks) => blocks.map(([first, ...rest], index) => [`key${index}:${first}`, ...rest].join("\n")).join("\n"));

describe("readSimpleYaml", () => {
  it("gives what YAML gives for whole documents", () => {
    let same = 0;
    fc.assert(
      fc.property(document, (source) => {
        if (compare(`${source}\n`) === "same") same += 1;
      }),
      { numRuns: 2000 },
    );
    expect(same).toBeGreaterThan(300);
  });

  it("gives what YAML gives for lines in any order", () => {
    let same = 0;
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 7 }), (lines) => {
        if (compare(`${lines.join("\n")}\n`) === "same") same += 1;
      }),
      { numRuns: 4000 },
    );
    expect(same).toBeGreaterThan(30);
  });

  it("reads lists in brackets, over lines and with a comma at the end", () => {
    const simple = [
      "tools: [agent:one/two, /three, Bash(git:*), x y ]",
      "tools: [a, b,]\nname: x",
      "tools:\n  [\n    'a',\n    \"b\",\n  ]\nname: x",
      "tools: [\n  a, b,\n  c ]",
      "servers:\n  one:\n    args: [\n      'run',\n      '-i'\n      , c ]\n    type: x\nname: y",
      "tools:\n  [a, b]\n\nname: x",
    ];
    for (const source of simple) expect([source, compare(`${source}\n`)]).toEqual([source, "same"]);
    const odd = ["[a,,b]", "[,]", "[a\n\n  b]", "[a\nb]", "[a: b]", "[a:, b]", "[a # b\n  c]", "[a]\n  b", "[a\n  b"];
    for (const value of odd) expect([value, compare(`tools: ${value}\n`)]).toEqual([value, "given up"]);
  });

  it("reads lines of nothing but spaces, however long", () => {
    const spaces = " ".repeat(60_000);
    expect(compare(`a:${spaces}\nb: x${spaces}y${spaces}\nc:\n  - d${spaces}\n  - e${spaces}f\n`)).toBe("same");
    expect(compare(`a:${spaces}b: c${spaces}\n`)).toBe("given up");
    expect(compare(`a:\n  -${spaces}\n`)).toBe("given up");
  });

  it("answers for most of what people write", () => {
    const answers = samples.map(({ text }) => {
      const split = splitFrontmatter(text);
      return split.kind === "found" ? compare(split.source) : "given up";
    });
    expect(answers.filter((answer) => answer === "same").length).toBeGreaterThan(samples.length / 2);
  });
});
