import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fold, initialState, type LoopState, next } from "../../src/loop/index.ts";
import { createApiServer, messagesOf } from "../../src/testing/index.ts";
import { readTranscript } from "../../src/transcript/index.ts";
import { damage } from "../torture/damage.ts";
import { runCommandLine } from "./command-line.ts";
import { createPlace, transcriptPath } from "./place.ts";
import { planWork, workFlags } from "./work-script.ts";

it("a damaged session continues or is rejected with a message, and keeps all its bytes", async () => {
  const report = await damage({ seed: 1, count: 4, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 4, run: 4, firstFailure: undefined });
  expect(report.work["continued"]).toBeGreaterThan(1);
}, 60_000);

it("a session continues with all messages if its head line is lost or a property name is damaged in any line", async () => {
  const place = createPlace();
  const server = await createApiServer({ script: planWork(place, { random: () => 0, steps: 3 }) });
  try {
    const start = (...args: string[]) =>
      runCommandLine({ place, url: server.url, args: ["-p", ...args, ...workFlags] });
    await start("Do the work.", "--max-turns", "2");
    const transcript = transcriptPath(place) ?? "";
    const lines = readFileSync(transcript, "utf8").split("\n");
    foldChanged(lines, join(place.root, "changed.jsonl"));
    writeFileSync(transcript, lines.filter((line) => !line.includes('"head.set"')).join("\n"));
    expect(await start("--continue")).toMatchObject({ code: 0, stdout: "All done.\n" });
    const messages = messagesOf(await server.waitForRequest(3));
    expect(messages[0]?.text).toMatch(/Do the work\.$/);
    expect(messages).toHaveLength(5);
  } finally {
    await server.close();
    place.remove();
  }
}, 60_000);

/** A flipped bit in a property name leaves valid JSON. The loop must still be able to continue from it. */
function foldChanged(lines: readonly string[], path: string): void {
  for (const [at, line] of lines.entries()) {
    for (const { index } of line.matchAll(/"\w+":/g)) {
      const flipped = String.fromCharCode(line.charCodeAt(index + 1) ^ 1);
      writeFileSync(path, lines.with(at, `${line.slice(0, index + 1)}${flipped}${line.slice(index + 2)}`).join("\n"));
      const state = readTranscript(path).lines.reduce<LoopState>(fold, initialState);
      expect(() => next(state), `${line.slice(index, index + 20)} in line ${at + 1}`).not.toThrow();
    }
  }
}

/**
 * Seeds that once caused failures: lost parts of a transcript that left a call without its result, an answer without a
 * question, and a repeated call id; and a flipped byte in a property name.
 */
it.each([9000, 9023, 9057, 7213])("a session continues after the damage from seed %i", async (seed) => {
  const report = await damage({ seed, count: 1, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ firstFailure: undefined, work: { continued: 1 } });
});
