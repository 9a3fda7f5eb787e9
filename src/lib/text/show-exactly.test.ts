import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readExactly, showExactly } from "./format.ts";

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
    // Composed and decomposed letters.
    ["c\u00e9 ce\u0301", "cé ce\\u{301}"],
    ["\u0438\u0306 \uac00 \u1100\u1161", "\u0438\\u{306} 가 \\u{1100}\\u{1161}"],
    ["\u212b \u212a \u037e", "\\u{212b} \\u{212a} \\u{37e}"],
    ["/\u0338etc \u0301x", "/\\u{338}etc \\u{301}x"],
    // Letters and signs that resemble Latin ones.
    ["\u0441at a.txt", "\\u{441}at a.txt"],
    ["\u0441\u0440 a b", "\\u{441}\\u{440} a b"],
    ["r\u043c -\u0433f", "r\\u{43c} -\\u{433}f"],
    ["l\u03bf\u0455 \u0585", "l\\u{3bf}\\u{455} \\u{585}"],
    ["\uff43at \u{1d41c}at \u217ds \u0261it", "\\u{ff43}at \\u{1d41c}at \\u{217d}s \\u{261}it"],
    ["a \u2013rf \u2212rf \u2044etc \u2019x\u2019", "a \\u{2013}rf \\u{2212}rf \\u{2044}etc \\u{2019}x\\u{2019}"],
    // Text in other languages.
    ["echo 'Привет мир'", "echo 'Привет мир'"],
    ["echo 'Καλημέρα'", "echo 'Καλημέρα'"],
    ["echo 'नमस्ते สวัสดี שלום مرحبا'", "echo 'नमस्ते สวัสดี שלום مرحبا'"],
    ["cat README日本語.md Übergröße.txt naïve “", "cat README日本語.md Übergröße.txt naïve \\u{201c}"],
    ["echo '→ ✓ … — 🎉'", "echo '→ ✓ … — 🎉'"],
  ])("shows %j as %j", (text, shown) => expect(showExactly(text)).toBe(shown));

  it("never shows two different strings alike, can be reversed, and shows only visible characters", () => {
    const part = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        "\n",
        "\t",
        " ",
        "\\",
        "u",
        "{",
        "}",
        "5c",
        "↵",
        "⇥",
        "␠",
        "\\u{202e}",
        "\u202e",
        "a",
        "\u0301",
        "\u0323",
        "\u0430",
      ),
    );
    const text = fc.array(part, { maxLength: 30 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, (given) => {
        const shown = showExactly(given);
        const isOneForm = shown.normalize("NFC") === shown;
        return readExactly(shown) === given && isOneForm && !/[\p{C}\p{Z}]/u.test(shown.replaceAll(" ", ""));
      }),
    );
  });

  it("does not decode an escape that represents no character", () => {
    expect(readExactly("\\u{110000} \\u{} \\u{41}↵")).toBe("\\u{110000} \\u{} A\n");
  });

  it("takes linear time for malicious text", () => {
    expect(showExactly(`${" x".repeat(100_000)}${" ".repeat(500_000)}x`)).toHaveLength(700_001);
    expect(showExactly(`a${"\u0301".repeat(100_000)}${"\u0430".repeat(100_000)}b`)).toHaveLength(1_400_002);
  });
});
