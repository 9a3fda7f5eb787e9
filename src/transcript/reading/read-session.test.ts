import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readTranscript } from "../index.ts";

describe("readTranscript", () => {
  it("gives the whole lines, tells of a torn one and leaves the file as it is", () => {
    const path = join(mkdtempSync(join(tmpdir(), "retinue-read-")), "s.jsonl");
    const whole = `${JSON.stringify({ v: 1, id: "1", parentId: null, at: 1, type: "head.set", hash: "h" })}\n`;
    const text = `${whole}{"v":1,"id":"2","pa`;
    writeFileSync(path, text);
    const { lines, problems } = readTranscript(path);
    expect(lines.map((line) => line.type)).toEqual(["head.set"]);
    expect(problems).toEqual([expect.objectContaining({ line: 2, message: expect.stringContaining("cut off") })]);
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  it("names the file that is not there", () => {
    const path = join(mkdtempSync(join(tmpdir(), "retinue-read-")), "none.jsonl");
    expect(() => readTranscript(path)).toThrowError(path);
  });
});
