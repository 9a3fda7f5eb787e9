import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createCompletion } from "../parts/completion.ts";
import { createPromptBox } from "../parts/prompt-box.ts";
import { graphemes } from "../screen/graphemes.ts";
import { widthOf } from "../screen/text.ts";
import { editKey } from "./edit-key.ts";
import { type Editor, editorWith, emptyEditor, paste, shownCharacter, wholeText } from "./editor.ts";
import { type EditorRows, editorRows, moveVertically } from "./editor-rows.ts";
import { addPrompt, moveInHistory, newHistory } from "./history.ts";

const press = (editor: Editor, ...names: readonly string[]): Editor =>
  names.reduce((before, name) => editKey(before, { kind: "key", name }) ?? before, editor);
const shown = ({ text, cursor }: Editor): string => `${text.slice(0, cursor)}|${text.slice(cursor)}`;

describe("an editor", () => {
  it.each([
    ["moves by words", ["alt-b", "alt-b"], "one |two three"],
    ["deletes a word", ["ctrl-w"], "one two |"],
    ["goes home and deletes forward", ["home", "delete"], "|ne two three"],
    ["kills to the start and yanks", ["alt-b", "ctrl-u", "end", "ctrl-y"], "threeone two |"],
    ["kills to the end", ["home", "alt-f", "ctrl-k"], "one|"],
    ["inserts line breaks", ["alt-b", "ctrl-j"], "one two \n|three"],
  ])("%s", (_, keys, expected) => {
    expect(shown(press(editorWith("one two three"), ...keys))).toBe(expected);
  });

  it("removes whole graphemes", () => {
    const family = "👨‍👩‍👧";
    expect(press(editorWith(`a${family}é`), "backspace", "backspace").text).toBe("a");
  });

  it("folds a long paste into one character, and sends it in full", () => {
    const long = Array.from({ length: 120 }, (_, line) => `line ${line}`).join("\n");
    const editor = paste(editorWith("See "), long);
    expect(Array.from(graphemes(editor.text), (each) => shownCharacter(each, editor.pastes)).join("")).toBe(
      "See [pasted 120 lines]",
    );
    expect(wholeText(editor)).toBe(`See ${long}`);
    expect(wholeText(press(editor, "backspace"))).toBe("See ");
  });

  it("turns the pasted path of an image into a mention", () => {
    expect(paste(editorWith("See "), "'/tmp/shot.PNG'\n").text).toBe("See @/tmp/shot.PNG ");
    expect(paste(emptyEditor, "/tmp/shot.txt").text).toBe("/tmp/shot.txt");
  });

  it("keeps its cursor between characters, and loses no input", () => {
    const text = fc.string({ unit: fc.constantFrom("a", " ", "\n", "é", "e\u0301", "漢", "👍🏽", "👨‍👩‍👧", "ש") });
    const keys = fc.constantFrom("left", "right", "home", "end", "alt-b", "alt-f", "ctrl-left", "up", "down");
    fc.assert(
      fc.property(text, fc.array(keys), fc.string({ unit: "grapheme" }), (before, moves, typed) => {
        const moved = press(editorWith(before), ...moves);
        expect(moved.text).toBe(before);
        expect(boundaries(moved.text)).toContain(moved.cursor);
        const edited = editKey(moved, { kind: "text", text: typed });
        expect(edited?.text).toHaveLength(before.length + wholeText(editorWith(typed)).length);
        expect(boundaries(edited?.text ?? "")).toContain(edited?.cursor);
      }),
    );
  });

  it("undoes a kill with a yank", () => {
    const keys = fc.constantFrom("ctrl-w", "ctrl-k", "ctrl-u");
    fc.assert(
      fc.property(fc.string({ unit: "grapheme-ascii" }), fc.nat(), keys, (text, at, key) => {
        const editor = editorWith(text);
        const start = { ...editor, cursor: Math.min(at, editor.text.length) };
        const killed = press(start, key);
        expect(press(killed, "ctrl-y").text).toBe(killed === start ? start.text + start.killed : start.text);
      }),
    );
  });
});

function boundaries(text: string): readonly number[] {
  let at = 0;
  return [0, ...Array.from(graphemes(text), (each) => (at += each.length))];
}

const allRows = (editor: Editor, columns: number): EditorRows =>
  editorRows(editor, { columns, above: Number.POSITIVE_INFINITY, below: Number.POSITIVE_INFINITY });

describe("the rows of an editor", () => {
  it("fit into the width and show the cursor where the next character appears", () => {
    const { rows, cursor } = allRows(editorWith("ab漢字cd\ne"), 4);
    expect(rows).toEqual(["ab漢", "字cd", "e"]);
    expect(cursor).toEqual({ row: rows.length - 1, column: 1 });
  });

  it("are broken between words, and within words only if they are longer than a row", () => {
    const rowsOf = (text: string) => allRows(editorWith(text), 8).rows;
    expect(rowsOf("one two three")).toEqual(["one two ", "three"]);
    expect(rowsOf("eight888 next")).toEqual(["eight888", "next"]);
    expect(rowsOf("a longerthanarow")).toEqual(["a ", "longerth", "anarow"]);
    expect(rowsOf("exactly8")).toEqual(["exactly8", ""]);
    const { cursor } = allRows({ ...editorWith("eight888 next"), cursor: 8 }, 8);
    expect(cursor).toEqual({ row: 0, column: 8 });
  });

  it("fit into any width, contain everything except trailing spaces, and include the cursor's position", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", " ", "\n", "漢", "é") });
    fc.assert(
      fc.property(text, fc.nat(), fc.integer({ min: 2, max: 9 }), (written, at, columns) => {
        const boundariesOf = boundaries(written);
        const cursor = boundariesOf[at % boundariesOf.length] ?? 0;
        const { rows, cursor: shownAt, indexes } = allRows({ ...editorWith(written), cursor }, columns);
        expect(rows.every((row) => widthOf(row) <= columns)).toBe(true);
        expect(rows.join("").replaceAll(" ", "")).toBe(written.replace(/[ \n]/g, ""));
        expect(indexes[shownAt.row]).toContainEqual({ index: cursor, column: shownAt.column });
        expect(indexes.flat().map(({ index }) => index)).toEqual(boundariesOf);
      }),
    );
  });

  it("can be navigated up and down, and the cursor stays within the text", () => {
    const editor = editorWith("first line\nab\nthird line");
    const middle = moveVertically(editor, -1, 100);
    expect(middle && shown(middle)).toBe("first line\nab|\nthird line");
    expect(moveVertically(emptyEditor, -1, 40)).toBeUndefined();
  });
});

describe("a long prompt", () => {
  afterEach(() => void vi.restoreAllMocks());

  const moves = ["up", "up", "home", "ctrl-left", "down", "end", "left"];
  const edits = ["backspace", "ctrl-w", "ctrl-j", "delete", "ctrl-u", "ctrl-k", "ctrl-y"];

  /** Returns how much text each key segments in a box that shows an earlier prompt. */
  function segmentedBy(prompt: string): readonly number[] {
    const box = createPromptBox({ mark: "› ", earlier: [prompt], onPrompt: () => {} });
    const completion = createCompletion({ commands: () => [], agents: () => [], files: () => [] });
    const segment = vi.spyOn(Intl.Segmenter.prototype, "segment");
    const keys = [...moves, ...edits].map((name) => ({ kind: "key", name }) as const);
    return [{ kind: "key", name: "up" } as const, ...keys, { kind: "text", text: "e\u0301" } as const].map((key) => {
      segment.mockClear();
      box.key(key);
      completion.update(box.editor);
      box.draw({ columns: 80, rows: 10 }, "");
      return segment.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
    });
  }

  it.each([
    ["many lines", "Line e\u0301 of a prompt that was pasted from a log file, with a 👍🏽 at its end\n"],
    ["a long line", "word e\u0301, "],
    ["a long word", "e\u0301漢-"],
  ])("of %s costs a key no more than a shorter one", (_, part) => {
    // The widths of characters are known from then on.
    segmentedBy(part.repeat(100));
    const short = segmentedBy(part.repeat(1_500));
    expect(Math.max(...short)).toBeGreaterThan(0);
    expect(Math.max(...short)).toBeLessThan(30_000);
    expect(Math.max(...segmentedBy(part.repeat(15_000)))).toBeLessThan(1.1 * Math.max(...short));
  });

  it("keeps all its text if it is one line, whose parts are wrapped separately", () => {
    const text = fc.string({
      unit: fc.constantFrom("a", "word ", "漢", "e\u0301", "👍🏽"),
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(text, fc.integer({ min: 8, max: 90 }), fc.nat(), (part, columns, at) => {
        const line = part.repeat(Math.ceil(5_000 / part.length));
        const all = boundaries(line);
        const cursor = all[at % all.length] ?? 0;
        const { rows, indexes, cursor: shownAt } = allRows({ ...editorWith(line), cursor }, columns);
        expect(rows.every((row) => widthOf(row) <= columns)).toBe(true);
        expect(indexes.flat().map(({ index }) => index)).toEqual(all);
        expect(indexes[shownAt.row]).toContainEqual({ index: cursor, column: shownAt.column });
        const near = editorRows({ ...editorWith(line), cursor }, { columns, above: 3, below: 3 });
        const first = Math.max(0, shownAt.row - 3);
        expect(near.rows).toEqual(rows.slice(first, shownAt.row + 4));
        expect([near.hasEarlier, near.hasLater]).toEqual([first > 0, shownAt.row + 4 < rows.length]);
      }),
      { numRuns: 20 },
    );
  });

  it("can be crossed row by row in both directions", () => {
    const line = `${"a word and another ".repeat(250)}\n${"漢字".repeat(1_500)}`;
    let editor: Editor | undefined = { ...editorWith(line), cursor: 0 };
    const down: number[] = [];
    for (; editor !== undefined; editor = moveVertically(editor, 1, 100)) down.push(editor.cursor);
    const rows = allRows(editorWith(line), 100).indexes;
    expect(down).toEqual(rows.map(([first]) => first?.index));
    editor = { ...editorWith(line), cursor: down.at(-1) ?? 0 };
    const up: number[] = [];
    for (; editor !== undefined; editor = moveVertically(editor, -1, 100)) up.push(editor.cursor);
    expect(up.toReversed()).toEqual(down);
  });
});

describe("the history", () => {
  it("returns older prompts, then the text that was being written", () => {
    const history = addPrompt(addPrompt(newHistory(), "one"), "two");
    const back = moveInHistory(history, -1, "draft");
    expect(back?.text).toBe("two");
    const further = back && moveInHistory(back.history, -1, back.text);
    expect(further?.text).toBe("one");
    expect(further && moveInHistory(further.history, -1, "one")).toBeUndefined();
    const again = back && moveInHistory(back.history, 1, back.text);
    expect(again?.text).toBe("draft");
  });
});
