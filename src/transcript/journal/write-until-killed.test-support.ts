import { writeSync } from "node:fs";
import type { DurableEvent } from "../../protocol/index.ts";
import { createTranscript, openTranscript } from "./transcript.ts";

// A program that appends to the transcripts of several agents and prints each acknowledgement, until it is killed.
const [home = "", cwd = "", sessionId = "", mode = "", seed = "1"] = process.argv.slice(2);
const options = { home, cwd, sessionId, clock: { now: Date.now, monotonic: () => performance.now() } };
const session = mode === "create" ? await createTranscript(options) : await openTranscript(options);
let state = Number(seed) || 1;

for (;;) {
  const agent = ["main", "a1", "a2", "a3"][random(4)] ?? "main";
  const size = random(10) === 0 ? 60_000 : random(300);
  const event: DurableEvent = { type: "notice.raised", code: "test", message: "x".repeat(size) };
  const events = Array.from({ length: 1 + random(3) }, () => event);
  const lines = await session.append(agent, events);
  say(`appended ${agent} ${lines.at(-1)?.id}`);
  if (random(3) === 0) {
    await session.sync(agent);
    say(`synced ${agent} ${lines.at(-1)?.id}`);
  }
}

function say(text: string): void {
  writeSync(1, `${text}\n`);
}

function random(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}
