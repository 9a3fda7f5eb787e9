import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Line } from "../../src/protocol/index.ts";
import { type ApiServer, createApiServer } from "../../src/testing/index.ts";
import { checkInvariants, ledgerOf } from "./check-invariants.ts";
import { startCommandLine } from "./command-line.ts";
import { createPlace, type Place, transcriptPath } from "./place.ts";
import { FORBIDDEN, planWork, workFlags } from "./work-script.ts";

let place: Place;
let server: ApiServer;
let transcript: string;
let good: string;
let goodLedger: string;

beforeAll(async () => {
  place = createPlace();
  server = await createApiServer({ script: planWork(place, { random: () => 0, steps: 3 }) });
  const { ended } = startCommandLine({ place, url: server.url, args: ["-p", "Work.", ...workFlags] });
  expect(await ended).toMatchObject({ code: 0, stdout: "All done.\n" });
  transcript = transcriptPath(place) ?? "";
  good = readFileSync(transcript, "utf8");
  goodLedger = readFileSync(ledgerOf(place), "utf8");
});

afterAll(async () => {
  await server.close();
  place.remove();
});

function check(): readonly string[] {
  const { violations } = checkInvariants({
    place,
    transcript,
    requests: server.requests,
    forbidden: FORBIDDEN,
    ends: "done",
  });
  return violations;
}

it("accepts an undisturbed run, and counts its steps", () => {
  const { violations, work } = checkInvariants({ place, transcript, requests: server.requests, forbidden: FORBIDDEN });
  expect(violations).toEqual([]);
  expect(work).toEqual({ turns: 4, calls: 4, effects: 3, unknown: 0, denied: 1 });
});

/** Each change makes a valid transcript invalid. Lines are renumbered, so that nothing else is wrong. */
const wrongs: readonly (readonly [string, string, (lines: Line[]) => Line[]])[] = [
  ["a lost result", "I3", (lines) => lines.filter((line) => line !== lines.find(({ type }) => type === "tool.ended"))],
  ["a second result", "I3", (lines) => twice(lines, "tool.ended")],
  ["a call that was started again", "I4", (lines) => twice(lines, "tool.started")],
  ["a lost intent", "I1", (lines) => without(lines, "tool.started")],
  ["a lost prompt", "I1", (lines) => without(lines, "prompt.received")],
  ["a lost answer", "I1", (lines) => without(lines, "model.ended")],
  ["a run without an end", "I10", (lines) => without(lines, "run.ended")],
  ["text that was never sent", "I1", changeResult],
  ["a forbidden call that ran", "I7", allowForbidden],
];

it.each(wrongs)("detects %s", (_, invariant, damage) => {
  try {
    const lines = good
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
    const damaged = damage(lines).map((line, index) => ({
      ...line,
      id: String(index + 1),
      parentId: index === 0 ? null : String(index),
    }));
    writeFileSync(transcript, damaged.map((line) => `${JSON.stringify(line)}\n`).join(""));
    expect(check().map((text) => text.split(" ")[0])).toContain(invariant);
  } finally {
    writeFileSync(transcript, good);
  }
});

it("detects a gap in the numbers and a torn line", () => {
  try {
    writeFileSync(transcript, good.replace(/^.*\n/, ""));
    expect(check()).toContainEqual(expect.stringMatching(/^I2/));
    writeFileSync(transcript, good.slice(0, -10));
    expect(check()).toContainEqual(expect.stringMatching(/^I2/));
  } finally {
    writeFileSync(transcript, good);
  }
});

it("detects a repeated effect", () => {
  try {
    appendFileSync(ledgerOf(place), goodLedger.split("\n")[0]?.concat("\n") ?? "");
    expect(check()).toContainEqual(expect.stringMatching(/^I5/));
  } finally {
    writeFileSync(ledgerOf(place), goodLedger);
  }
});

function without(lines: Line[], type: Line["type"]): Line[] {
  const at = lines.findIndex((line) => line.type === type);
  return lines.filter((_, index) => index !== at);
}

function twice(lines: Line[], type: Line["type"]): Line[] {
  const at = lines.findIndex((line) => line.type === type);
  return lines.flatMap((line, index) => (index === at ? [line, line] : [line]));
}

function changeResult(lines: Line[]): Line[] {
  const at = lines.findIndex(({ type }) => type === "tool.ended");
  return lines.map((line, index) => {
    if (index !== at || line.type !== "tool.ended") return line;
    return { ...line, result: { ...line.result, content: [{ type: "text", text: "something else" }] } };
  });
}

function allowForbidden(lines: Line[]): Line[] {
  return lines.map((line) => {
    if (line.type !== "tool.ended" || line.result.outcome !== "denied") return line;
    return { ...line, result: { ...line.result, outcome: "ok" } };
  });
}
