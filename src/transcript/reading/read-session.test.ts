import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readTranscript } from "../index.ts";

describe("readTranscript", () => {
  it("returns the complete lines, reports a torn one and does not change the file", () => {
    const path = join(mkdtempSync(join(tmpdir(), "retinue-read-")), "s.jsonl");
    const whole = `${JSON.stringify({ v: 1, id: "1", parentId: null, at: 1, type: "head.set", hash: "h" })}\n`;
    const text = `${whole}{"v":1,"id":"2","pa`;
    writeFileSync(path, text);
    const { lines, problems } = readTranscript(path);
    expect(lines.map((line) => line.type)).toEqual(["head.set"]);
    expect(problems).toEqual([expect.objectContaining({ line: 2, message: expect.stringContaining("cut off") })]);
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  it("names a missing file", () => {
    const path = join(mkdtempSync(join(tmpdir(), "retinue-read-")), "none.jsonl");
    expect(() => readTranscript(path)).toThrowError(path);
  });
});
