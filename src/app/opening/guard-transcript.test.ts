import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Transcript } from "../../ports/index.ts";
import { createScriptedModel } from "../../testing/index.ts";
import { createMemoryTranscript } from "../../transcript/index.ts";
import { guardTranscript } from "./guard-transcript.ts";
import { openSession } from "./open-session.ts";
import type { SessionOptions } from "./session-options.ts";

function place(): SessionOptions {
  const cwd = mkdtempSync(join(tmpdir(), "retinue-transcript-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  return { cwd, environment: { HOME: cwd }, model: createScriptedModel([{ text: "Hi." }]) };
}

/** Returns a transcript in memory whose `append` fails starting with the given call. */
function failing(from: number, fail: () => unknown): Transcript {
  const memory = createMemoryTranscript();
  let calls = 0;
  const append = (...given: Parameters<Transcript["append"]>) => {
    calls += 1;
    return calls < from ? memory.append(...given) : fail();
  };
  return { ...memory, append: append as Transcript["append"] };
}

const failures: readonly (readonly [string, () => unknown, string])[] = [
  ["rejects", () => Promise.reject(new Error("db down")), "failed: db down"],
  [
    "throws",
    () => {
      throw new Error("db down");
    },
    "failed: db down",
  ],
  ["returns nothing", async () => undefined, "must return one line for each"],
  ["returns too few lines", async () => [], "must return one line for each"],
];

describe.each(failures)("a transcript whose append method %s", (_, fail, message) => {
  it.each([2, 3, 4])("ends the run when call %i fails, and the session can still be closed", async (from) => {
    const session = await openSession({ ...place(), transcript: failing(from, fail) });
    const result = await session.prompt("Hello").result;
    expect(result).toMatchObject({ outcome: "failed", reason: "journal_error" });
    expect(result.message).toMatch(/^The transcript's append method failed: /);
    expect(result.message).toContain(message);
    await session.close();
  });
});

it("a call that never ends fails once the session is closing", async () => {
  const closing = new AbortController();
  const pending = { ...createMemoryTranscript(), append: () => new Promise<never>(() => {}) };
  const transcript = guardTranscript(pending, { closing: closing.signal, closingMs: 1 });
  const appended = expect(transcript.append("main", [])).rejects.toThrow("did not finish");
  closing.abort();
  await appended;
  await expect(transcript.append("main", [])).rejects.toMatchObject({ code: "TRANSCRIPT" });
});

it("a transcript with lines needs resume, and one without lines can't be resumed", async () => {
  const options = place();
  const transcript = createMemoryTranscript();
  const session = await openSession({ ...options, transcript });
  await session.prompt("Hello").result;
  await session.close();
  const lines = [["main", await transcript.read("main")]] as const;
  const again = createMemoryTranscript({ sessionId: session.id, lines });
  await expect(openSession({ ...options, transcript: again })).rejects.toMatchObject({
    message: `The transcript already contains the session ${session.id}`,
    fix: expect.stringContaining(`resume: "${session.id}"`),
  });
  const resumed = await openSession({ ...options, transcript: again, resume: session.id });
  await resumed.close();
  const empty = createMemoryTranscript();
  await expect(openSession({ ...options, transcript: empty, resume: empty.sessionId })).rejects.toThrow("has no lines");
});
