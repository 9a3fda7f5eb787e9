import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createId, hashTexts, matchAgentId, matchId, newAgentId, newRunId, newSessionId } from "./ids.ts";

const zeros = (bytes: Uint8Array) => bytes;
const at = (time: number) => ({ random: zeros, now: () => time });

describe("ids", () => {
  it.each([
    [0, "0000000000"],
    [1469918176385, "01aryz6s41"],
    [1700000000000, "01hf7yat00"],
    [2 ** 48 - 1, "7zzzzzzzzz"],
  ])("encode the time %i like a ULID", (time, expected) => {
    expect(createId("", at(time))).toBe(`${expected}0000000000000000`);
  });

  it("sort by time", () => {
    const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });
    fc.assert(
      fc.property(time, time, (first, second) => {
        const [a, b] = [newSessionId(at(first)), newSessionId(at(second))];
        expect(Math.sign(first - second)).toBe(a < b ? -1 : Number(a > b));
      }),
    );
  });

  it("have a separate form for each kind, valid in file names and addresses", () => {
    expect(createId("call-")).toMatch(/^call-[0-9a-hjkmnp-tv-z]{26}$/);
    expect(newSessionId()).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/);
    expect(newAgentId()).toMatch(/^a[0-9a-hjkmnp-tv-z]{12}$/);
    expect(newRunId()).toMatch(/^r[0-9a-hjkmnp-tv-z]{12}$/);
    expect(newAgentId({ random: (bytes) => bytes.fill(255) })).toBe("azzzzzzzzzzzz");
  });

  it("do not repeat", () => {
    expect(new Set(Array.from({ length: 10_000 }, () => newAgentId())).size).toBe(10_000);
  });

  it("can't be created for an invalid time", () => {
    expect(() => createId("", at(Number.NaN))).toThrow("not a time");
    expect(() => createId("", at(-1))).toThrow("not a time");
  });
});

describe("matchId", () => {
  const ids = ["01hf7a", "01hf7b", "01hg00", "01hg0", "01hh99q7zz", "01hh99w7zz", "7zzqrst"];
  it.each([
    ["01hf7a", { kind: "one", id: "01hf7a" }],
    ["01HF7B", { kind: "one", id: "01hf7b" }],
    ["01hg0", { kind: "one", id: "01hg0" }],
    ["01hg00", { kind: "one", id: "01hg00" }],
    ["01hf", { kind: "many", ids: ["01hf7a", "01hf7b"] }],
    ["q7zz", { kind: "one", id: "01hh99q7zz" }],
    ["Q7ZZ", { kind: "one", id: "01hh99q7zz" }],
    ["7zz", { kind: "one", id: "7zzqrst" }],
    ["99w7zz", { kind: "one", id: "01hh99w7zz" }],
    ["9q7z", { kind: "none" }],
    ["hf7a", { kind: "one", id: "01hf7a" }],
    ["f7a", { kind: "none" }],
    ["02", { kind: "none" }],
    ["", { kind: "none" }],
  ])("%j returns %j", (prefix, expected) => {
    expect(matchId(ids, prefix)).toEqual(expected);
  });

  it("treats text that begins one id and ends another as ambiguous", () => {
    expect(matchId(["01hfabcd", "abcd01hf"], "abcd")).toEqual({ kind: "many", ids: ["01hfabcd", "abcd01hf"] });
  });

  it("treats an id that is listed twice as one", () => {
    expect(matchId(["abc", "abc"], "ab")).toEqual({ kind: "one", id: "abc" });
  });

  it("finds an agent by the name of its file", () => {
    const ids = ["a7k3m9x2w4qpz", "agenta0000000"];
    for (const part of ["agent-a7k3m9x2w4qpz", "agent-a7k3", "Agent-A7K3", "agent-4qpz", "a7k3"])
      expect(matchAgentId(ids, part)).toEqual({ kind: "one", id: "a7k3m9x2w4qpz" });
    expect(matchAgentId(ids, "agent")).toEqual({ kind: "one", id: "agenta0000000" });
    expect(matchAgentId(ids, "agent-")).toEqual({ kind: "none" });
  });
});

it("equal lists have the same hash, and different lists have different hashes", () => {
  const lists = [[], [""], ["ab"], ["a", "b"], ["b", "a"], ["1:a"], ["a1:", ""], ["ü"], ["x".repeat(100_000)]];
  expect(new Set(lists.map(hashTexts)).size).toBe(lists.length);
  expect(hashTexts(["a", "b"])).toBe(hashTexts(["a", "b"]));
  expect(hashTexts(["a"])).toMatch(/^[\w-]{16}$/);
});
