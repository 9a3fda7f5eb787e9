import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textOfRow } from "../screen/row.ts";
import { widthOfRow, wrap } from "../screen/text.ts";
import { diffRows } from "./diff-rows.ts";
import { markdownRows } from "./markdown.ts";
import { splitDraft } from "./split-draft.ts";
import { createTextStream } from "./text-stream.ts";

const limits = { columns: 60, rows: 6 };
const texts = (rows: readonly (readonly { text: string }[])[]): readonly string[] =>
  rows.map((row) => textOfRow(row).trimEnd());

const markdown = [
  "A paragraph with `code` and **bold** text that is long enough to be broken into rows.",
  "## A heading",
  "1. one\n2. two\n   - nested\n\n   more of two\n3. three",
  "```ts\nconst a = 1;\n\nconst b = 2;\n\n\nconst c = 3;\nconst d = 4;\nconst e = 5;\nconst f = 6;\n```",
  "| name | value |\n|---|---|\n| a | 1 |\n| b | 2 |",
  "> a quote",
  "The end.",
].join("\n\n");

describe("Markdown", () => {
  it("is shown without markup, in rows that fit", () => {
    const rows = markdownRows(markdown, 60);
    expect(rows.every((row) => widthOfRow(row) <= 60)).toBe(true);
    expect(texts(rows)).toContain("2. two");
    expect(texts(rows)).toContain("   • nested");
    expect(texts(rows)).toContain("  const b = 2;");
    expect(texts(rows)).toContain("name │ value");
    expect(texts(rows).join("\n")).not.toMatch(/\*\*|##|```/);
  });

  it("shows task lists", () => {
    expect(texts(markdownRows("- [ ] todo\n- [x] done\n", 60))).toEqual(["☐ todo", "☑ done"]);
    expect(texts(markdownRows("- [ ] todo\n\n- [x] done\n", 60))).toEqual(["☐ todo", "", "☑ done"]);
  });

  it("wraps the cells of a table, whose layout depends only on its header", () => {
    const head = "| name | count | about |\n|---|---:|:-:|\n";
    expect(texts(markdownRows(`${head}| a | 1 | x |\n| bcd | 200 | long |`, 60))).toEqual([
      "name │ count │ about",
      "─────┼───────┼──────",
      "a    │     1 │   x",
      "bcd  │   200 │ long",
    ]);
    const wide = `${head}| a | 1 | ${"many words ".repeat(12)}|`;
    const rows = markdownRows(wide, 40);
    expect(rows.every((row) => widthOfRow(row) <= 40)).toBe(true);
    expect(texts(rows)[2]).toMatch(/^a {4}│ {5}1 │ +many words/);
    expect(texts(rows)[3]).toMatch(/^ {5}│ {7}│ +many words/);
    expect(texts(markdownRows(`${head}| a | 1 | x |`, 20))).toEqual(["name: a", "count: 1", "about: x"]);
  });

  it("wraps long lines of code at the terminal's width, and indents the continuation", () => {
    const rows = texts(markdownRows(`\`\`\`\n${"x".repeat(50)}\n\`\`\``, 20, 40));
    expect(rows).toEqual([`  ${"x".repeat(38)}`, `      ${"x".repeat(12)}`]);
  });

  it("contains no control characters, whatever the model writes", () => {
    const rows = markdownRows("a\u001b[2Jb\u0007 `c\u001b]0;x\u0007`\n\n```\n\u001b[31mred\n```", 60);
    expect(texts(rows).join("")).not.toMatch(/\p{Cc}/u);
  });

  it("is shown as plain text if it is nested too deeply", () => {
    const rows = texts(markdownRows("> ".repeat(20_000), 60));
    expect(rows.join("").replaceAll(" ", "")).toBe(">".repeat(20_000));
  });

  it("looks the same while it is being written as when it is complete, no matter how it is split", () => {
    const whole = texts(markdownRows(markdown, limits.columns));
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (sizes) => {
        const stream = createTextStream();
        const rows = [];
        for (let at = 0, step = 0; at < markdown.length; step++) {
          at += sizes[step % sizes.length] ?? 1;
          rows.push(...stream.grow(markdown.slice(0, at), limits));
          expect(markdown.startsWith(stream.printed)).toBe(true);
        }
        rows.push(...stream.finish(markdown, limits));
        expect(texts(rows)).toEqual(whole);
      }),
    );
  });

  it("is split only where a block has ended", () => {
    expect(splitDraft("one\n\ntwo")).toEqual({ done: "one\n\n", rest: "two" });
    expect(splitDraft("- one\n\n  still one").done).toBe("");
    expect(splitDraft("```\na\n\nb").done).toBe("");
    expect(splitDraft("one\n\n").done).toBe("");
  });
});

describe("rows of text", () => {
  it("are never wider than the terminal, and keep every word", () => {
    const words = fc.array(
      fc.string({ unit: fc.constantFrom("a", "b", "漢", "é", "👍", "ש"), minLength: 1, maxLength: 30 }),
    );
    fc.assert(
      fc.property(words, fc.integer({ min: 4, max: 40 }), (given, columns) => {
        const rows = wrap([{ text: given.join(" ") }], { columns });
        expect(rows.every((row) => widthOfRow(row) <= columns)).toBe(true);
        expect(rows.map(textOfRow).join("").replaceAll(" ", "")).toBe(given.join(""));
      }),
    );
  });
});

describe("a change to a file", () => {
  it("is shown with line numbers", () => {
    const diff = "@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n@@ -20,1 +20,2 @@\n x\n+y\n";
    expect(texts(diffRows(diff, { columns: 60, path: "a.ts", max: 30 }))).toEqual([
      "     1   a",
      "     2 − b",
      "     2 + c",
      "     3   d",
      "       ⋮",
      "    20   x",
      "    21 + y",
    ]);
  });
});
