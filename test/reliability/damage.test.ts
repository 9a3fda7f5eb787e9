import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createApiServer, messagesOf } from "../../src/testing/index.ts";
import { damage } from "../torture/damage.ts";
import { startCommandLine } from "./command-line.ts";
import { createPlace, transcriptPath } from "./place.ts";
import { planWork, workFlags } from "./work-script.ts";

it("goes on with damaged sessions or refuses them in words, and deletes no byte of them", async () => {
  const report = await damage({ seed: 1, count: 12, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 12, run: 12, firstFailure: undefined });
  expect(report.work["gone on"]).toBeGreaterThan(6);
}, 60_000);

it("goes on with all words where the line that sets the head is lost", async () => {
  const place = createPlace();
  const server = await createApiServer({ script: planWork(place, { random: () => 0, steps: 3 }) });
  try {
    const start = (...args: string[]) =>
      startCommandLine({ place, url: server.url, args: ["-p", ...args, ...workFlags] }).ended;
    await start("Do the work.", "--max-turns", "2");
    const transcript = transcriptPath(place) ?? "";
    const lines = readFileSync(transcript, "utf8").split("\n");
    writeFileSync(transcript, lines.filter((line) => !line.includes('"head.set"')).join("\n"));
    expect(await start("--continue")).toMatchObject({ code: 0, stdout: "All done.\n" });
    const messages = messagesOf(await server.waitForRequest(3));
    expect(messages[0]?.text).toBe("Do the work.");
    expect(messages).toHaveLength(5);
  } finally {
    await server.close();
    place.remove();
  }
}, 60_000);

/** Lost stretches that once left a call without its result, an answer without a question, and one call id twice. */
it.each([9000, 9023, 9057])("goes on after the damage of seed %i", async (seed) => {
  const report = await damage({ seed, count: 1, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ firstFailure: undefined, work: { "gone on": 1 } });
});
