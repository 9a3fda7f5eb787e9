import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatBytes, formatCount, formatDuration, plural, stripControls } from "./format.ts";

describe("stripControls", () => {
  it.each([
    ["\u001b[31mred\u001b[0m", "red"],
    ["\u009b2Jgone", "gone"],
    ["\u001b]0;title\u0007text", "text"],
    ["\u001b]52;c;aGk=\u001b\\text", "text"],
    ["\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\", "link"],
    ["\u001bPdevice\u001b\\text", "text"],
    ["\u001b]never closed", "never closed"],
    ["a\u001b(Bb\u001bcc", "abc"],
    ["safe\rrm -rf", "saferm -rf"],
    ["one\r\ntwo\tthree\n", "one\ntwo\tthree\n"],
    ["a\b\u0000\u007fb", "ab"],
    ["abc\u202ecba\u2066x\u2069", "abccbax"],
    ["日本 é 👍🏽 👩‍👩‍👧", "日本 é 👍🏽 👩‍👩‍👧"],
  ])("turns %j into %j", (given, expected) => {
    expect(stripControls(given)).toBe(expected);
  });

  it("shows control characters if requested", () => {
    expect(stripControls("ls \u001b[8m; rm\u202e\u0085\u200b\u{e0041}", { visible: true })).toBe(
      "ls \\x1b[8m; rm\\u202e\\x85\\u200b\\u{e0041}",
    );
  });

  it("leaves nothing that moves the cursor", () => {
    const nasty = fc.string({
      unit: fc.constantFrom(
        "\u001b",
        "[",
        "]",
        "P",
        "\\",
        "\u0007",
        "\u009b",
        "\u009c",
        "m",
        "0",
        ";",
        "\r",
        "\n",
        "a",
        "\u202e",
      ),
    });
    fc.assert(
      fc.property(nasty, fc.boolean(), (text, visible) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: matches what must have been removed
        expect(stripControls(text, { visible })).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
      }),
    );
  });

  it("takes linear time for malicious text", () => {
    expect(stripControls("\u001b]".repeat(200_000))).toBe("");
    expect(stripControls(`\u001b[${"0".repeat(500_000)}`).length).toBe(500_000);
  });
});

describe("formats", () => {
  it.each([
    [0, "0 B"],
    [1023, "1023 B"],
    [1536, "1.5 KB"],
    [1024 * 1024 - 1, "1.0 MB"],
    [150 * 1024, "150 KB"],
    [5 * 1024 ** 3, "5.0 GB"],
  ])("%i bytes are %s", (bytes, expected) => expect(formatBytes(bytes)).toBe(expected));

  it.each([
    [0, "0 ms"],
    [850.4, "850 ms"],
    [12_340, "12.3 s"],
    [59_960, "1m 00s"],
    [125_000, "2m 05s"],
    [3_599_600, "1h 00m"],
    [7_500_000, "2h 05m"],
  ])("%d ms are %s", (milliseconds, expected) => expect(formatDuration(milliseconds)).toBe(expected));

  it("uses singular and plural", () => {
    expect([plural(0, "line"), plural(1, "line"), plural(1234567, "line")]).toEqual([
      "0 lines",
      "1 line",
      "1,234,567 lines",
    ]);
    expect(formatCount(999)).toBe("999");
  });
});
