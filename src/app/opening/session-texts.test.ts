import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { addressesOfFiles } from "./session-texts.ts";

let top = "";
let files = "";
beforeAll(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "texts-")));
  files = join(top, "home/s1");
  mkdirSync(files, { recursive: true });
  symlinkSync(join(top, "home"), join(top, "linked"));
});
afterAll(() => rmSync(top, { recursive: true }));

it.each([
  ["s1/results/call_1.txt", "retinue://result/call_1"],
  ["s1/call_1.txt", "retinue://result/call_1"],
  ["s1/subagents/agent-a1.output", "retinue://output/a1"],
  ["s1/./results/../results/call_1.txt", "retinue://result/call_1"],
  ["s1/subagents/agent-a1.jsonl", undefined],
  ["s1/subagents/agent-..output", undefined],
  ["s1/subagents/agent-a1.txt", undefined],
  ["s1/results/a.b.txt", undefined],
  ["s1/results/deep/x.txt", undefined],
  ["s1/scratch/x.txt", undefined],
  ["s1/results/../../s2/results/x.txt", undefined],
  ["s1/../s2/x.txt", undefined],
  ["s1-evil/results/x.txt", undefined],
  ["s2/results/x.txt", undefined],
  ["s1/results/x.txt\0", undefined],
  [`s1/results/${"x".repeat(81)}.txt`, undefined],
  ["s1/wal.jsonl", undefined],
  ["s1", undefined],
])("%s has the address %s", (path, address) => {
  for (const home of ["home", "linked"])
    expect(addressesOfFiles(join(top, home, "s1.jsonl"))(`${top}/${home}/${path}`)).toBe(address);
  expect(addressesOfFiles(join(top, "linked/s1.jsonl"))(`${top}/home/${path}`)).toBe(address);
  expect(addressesOfFiles(undefined)(`${top}/home/${path}`)).toBeUndefined();
});
