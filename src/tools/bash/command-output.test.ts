import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { createCommandOutput, createWholeCharacters } from "./command-output.ts";

it("returns all bytes, and never splits a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.array(fc.integer({ min: 1, max: 5 })), (text, sizes) => {
      const bytes = Buffer.from(text);
      const characters = createWholeCharacters();
      let whole = "";
      let position = 0;
      for (const size of [...sizes, bytes.length]) {
        whole += Buffer.from(characters.take(bytes.subarray(position, position + size))).toString();
        position += size;
      }
      expect(whole + Buffer.from(characters.rest()).toString()).toBe(text);
    }),
  );
});

it("does not hold back bytes that can't become a character", () => {
  const characters = createWholeCharacters();
  expect([...characters.take(Uint8Array.of(0x80, 0x80, 0x80, 0x80))]).toEqual([0x80, 0x80, 0x80, 0x80]);
  expect([...characters.rest()]).toEqual([]);
});

it("replaces a symlink at the path of its file, and does not change the link's target", () => {
  const directory = mkdtempSync(join(tmpdir(), "retinue-output-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const target = join(directory, "target");
  writeFileSync(target, "before");
  symlinkSync(target, join(directory, "c1.txt"));
  const output = createCommandOutput(join(directory, "c1.txt"), { headBytes: 10, tailBytes: 10, fileBytes: 1_000 });
  output.push(Buffer.from("x".repeat(100)), "stdout");
  const { whole } = output.takeNew();
  expect(whole).toMatchObject({ path: join(directory, "c1.txt"), bytes: 100 });
  expect(readFileSync(target, "utf8")).toBe("before");
  expect(readFileSync(join(directory, "c1.txt"), "utf8")).toBe("x".repeat(100));
  output.discard();
});
