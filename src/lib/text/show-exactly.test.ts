import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { showExactly } from "./format.ts";

/** Reads what `showExactly` wrote. */
function read(shown: string): string {
  return shown
    .replaceAll("↵", "\n")
    .replaceAll("⇥", "\t")
    .replaceAll("␠", " ")
    .replace(/\\u\{([0-9a-f]+)\}/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
}

describe("showExactly", () => {
  it.each([
    ["npm test", "npm test"],
    ["grep 'é 日本' a.txt", "grep 'é 日本' a.txt"],
    ["ls # list\nrm -r src", "ls # list↵rm -r src"],
    ["printf 'a\\nb'", "printf 'a\\nb'"],
    ["a\tb \n  c ", "a⇥b␠↵  c␠"],
    [" ls", "␠ls"],
    [`ls${" ".repeat(16)}; rm x`, `ls${"␠".repeat(16)}; rm x`],
    ["ls \u001b[8m; rm\r\u0000", "ls \\u{1b}[8m; rm\\u{d}\\u{0}"],
    ["echo \u202etxt.exe\u2066", "echo \\u{202e}txt.exe\\u{2066}"],
    ["r\u200bm\u00a0x\u3164\u2800\ufe0f\u{e0041}", "r\\u{200b}m\\u{a0}x\\u{3164}\\u{2800}\\u{fe0f}\\u{e0041}"],
    ["echo ↵ ⇥ ␠", "echo \\u{21b5} \\u{21e5} \\u{2420}"],
    ["echo '\\u{202e}'", "echo '\\u{5c}u{202e}'"],
    ["\ud800", "\\u{d800}"],
  ])("shows %j as %j", (text, shown) => expect(showExactly(text)).toBe(shown));

  it("never shows two different texts alike, and nothing but visible characters", () => {
    const part = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("\n", "\t", " ", "\\", "u", "{", "}", "5c", "↵", "⇥", "␠", "\\u{202e}", "\u202e", "a"),
    );
    const text = fc.array(part, { maxLength: 30 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, (given) => {
        const shown = showExactly(given);
        return read(shown) === given && !/[\p{C}\p{Z}]/u.test(shown.replaceAll(" ", ""));
      }),
    );
  });

  it("is linear in hostile text", () => {
    expect(showExactly(`${" x".repeat(100_000)}${" ".repeat(500_000)}x`)).toHaveLength(700_001);
  });
});
