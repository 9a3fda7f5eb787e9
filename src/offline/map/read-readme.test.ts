import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainText, readReadme } from "./read-readme.ts";

function readText(text: string) {
  const { title, paragraph } = readReadme({
    lines: text.split("\n").map((line, index) => ({ number: index + 1, text: line })),
    total: undefined,
  });
  return [title && `${title.number} ${title.text}`, paragraph && `${paragraph.number} ${paragraph.text}`];
}

describe("readReadme", () => {
  it.each<[string, string, (string | undefined)[]]>([
    ["a plain README", "# Tea\n\nBrews tea,\nat any time.\n\nMore.\n", ["1 Tea", "3 Brews tea, at any time."]],
    [
      "badges and links",
      "# Tea\n[![npm](a.svg)](b) ![x](y)\n[![docs][docs-badge]][docs]\n\nBrews [tea](http://a.b) on **any** _server_.\n",
      ["1 Tea", "5 Brews tea on any server."],
    ],
    [
      "HTML",
      '<p align="center">\n  <img src="a.svg"\n    width="20">\n</p>\n<h1 align="center">Tea</h1>\n<p align="center">\n  <strong>Brewing &amp; more for you</strong>\n</p>\n',
      ["5 Tea", "7 Brewing & more for you"],
    ],
    [
      "underlined headings",
      "Tea\n===\n\nInstall it\n----------\n\nTea for all of us.\n",
      ["1 Tea", "7 Tea for all of us."],
    ],
    [
      "reStructuredText",
      ".. image:: a.svg\n   :target: b\n\n===\nTea\n===\n\n|build| |coverage|\n\nTea is ``small`` and *good*.\n",
      ["5 Tea", "10 Tea is `small` and good."],
    ],
    [
      "front matter, comments, notes, lists, tables and code",
      "---\ntitle: a b c d e\n---\n<!-- one two three\nfour five -->\n> [!NOTE]\n> This is in beta now.\n\n- one two three four\n\n| a b | c d |\n\n```sh\nnpm install this and that\n```\n\nBrews tea for everybody.\n",
      [undefined, "17 Brews tea for everybody."],
    ],
    [
      "a quotation",
      "# Vite ⚡\n\n> Next Generation Frontend Tooling\n",
      ["1 Vite ⚡", "3 Next Generation Frontend Tooling"],
    ],
    ["nothing but links", "# Tea\n\n[Docs](a) [Chat](b)\n", ["1 Tea", undefined]],
  ])("reads %s", (_, text, expected) => {
    expect(readText(text)).toEqual(expected);
  });

  it("reports the line of the paragraph, whatever precedes it", () => {
    const noise = fc.constantFrom(
      "[![a](b)](c)",
      "<img src='a'>",
      "<!-- a b c d e -->",
      "[a]: http://b",
      "",
      "- a b c d e",
    );
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 8 }), (above) => {
        const [title, paragraph] = readText([...above, "", "# Tea", "", "Brews tea for you.", ""].join("\n"));
        expect([title, paragraph]).toEqual([`${above.length + 2} Tea`, `${above.length + 4} Brews tea for you.`]);
      }),
    );
  });

  it("accepts any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const { paragraph } = readReadme({ lines: [{ number: 1, text }], total: 1 });
        expect(paragraph?.text ?? "x").toMatch(/\S/);
        expect(plainText(text)).not.toMatch(/^\s|\s$|\n/);
      }),
    );
  });
});
