import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toLf } from "../shared/text-encoding.ts";
import { applyEdit } from "./apply-edit.ts";

const once = (text: string, oldString: string, newString: string) =>
  applyEdit(text, { oldString, newString, replaceAll: false });

describe("applyEdit", () => {
  it("replaces a single occurrence, and distinguishes the other cases", () => {
    expect(once("a b c", "b", "x$&")).toEqual({ kind: "edited", text: "a x$& c", places: [{ start: 2, end: 5 }] });
    expect(once("a b c", "d", "x")).toEqual({ kind: "missing" });
    expect(once("a\nb\na\n", "a", "x")).toEqual({ kind: "ambiguous", lines: [1, 3] });
    expect(once("aaa", "aa", "x")).toEqual({ kind: "ambiguous", lines: [1, 1] });
  });

  it("does not replace more than 100,000 matches", () => {
    const all = (count: number) => applyEdit("a".repeat(count), { oldString: "a", newString: "b", replaceAll: true });
    expect(all(100_000)).toMatchObject({ kind: "edited", text: "b".repeat(100_000) });
    expect(all(100_001)).toEqual({ kind: "too_many" });
  });

  it("keeps CRLF, even for single lines in mixed text", () => {
    expect(once("a\r\nb\r\nc", "a\nb", "x\ny\nz")).toMatchObject({ text: "x\r\ny\r\nz\r\nc" });
    expect(once("a\r\nb\r\n", "b", "b\nc")).toMatchObject({ text: "a\r\nb\r\nc\r\n" });
    expect(once("a\nb\nc\r\nd\n", "c\nd", "e\nf")).toMatchObject({ text: "a\nb\ne\r\nf\n" });
    expect(once("a\r\nb\r\nc\nd", "c\nd", "e\nf")).toMatchObject({ text: "a\r\nb\r\ne\nf" });
    expect(once("a\nb", "a\r\nb", "c")).toMatchObject({ text: "c" });
  });

  const text = fc
    .array(fc.constantFrom("a", "b", "\n", "\r\n", "é", "😀"), { maxLength: 40 })
    .map((parts) => parts.join(""));
  const some = fc
    .array(fc.constantFrom("a", "b", "\n", "é"), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join(""));

  it("replaces text exactly, apart from line endings", () => {
    fc.assert(
      fc.property(text, some, some, (whole, oldString, newString) => {
        const outcome = applyEdit(whole, { oldString, newString, replaceAll: true });
        const plain = toLf(whole);
        expect(outcome.kind === "edited").toBe(plain.includes(oldString));
        if (outcome.kind !== "edited") return;
        expect(toLf(outcome.text)).toBe(plain.replaceAll(oldString, () => newString));
        for (const { start, end } of outcome.places) expect(toLf(outcome.text.slice(start, end))).toBe(newString);
      }),
    );
  });

  it("does not change anything around a single match", () => {
    fc.assert(
      fc.property(text, text, some, (before, after, newString) => {
        const whole = `${before}#here\r\nit is#${after}`;
        const outcome = once(whole, "#here\nit is#", newString);
        if (outcome.kind !== "edited") throw new Error(outcome.kind);
        expect(outcome.text.startsWith(before)).toBe(true);
        expect(outcome.text.endsWith(after)).toBe(true);
        expect(toLf(outcome.text)).toBe(toLf(before) + newString + toLf(after));
      }),
    );
  });
});
