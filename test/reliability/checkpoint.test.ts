import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { fold } from "../../src/loop/index.ts";
import type { DurableEvent } from "../../src/protocol/index.ts";
import { Thread } from "../../src/runs/index.ts";
import { createTranscript, openTranscript, type Transcript } from "../../src/transcript/index.ts";
import { createPlace, type Place, transcriptPath } from "./place.ts";
import { ended, type RandomConversation, randomConversation } from "./random-conversation.ts";

const clock = { now: () => 0, monotonic: () => 0 };

/** Records some of the events and a checkpoint, then records the other events after restoring from the checkpoint. */
async function live(place: Place, { head, events }: RandomConversation, until: number): Promise<void> {
  const first = await createTranscript({ ...place, sessionId: "s", clock, worthKeeping: 1 });
  const thread = new Thread("main", first);
  const hash = await thread.keepHead(head);
  await thread.record([{ type: "head.set", hash }, ...events.slice(0, until)]);
  const { run } = thread.state;
  if (run) await thread.record([ended(run.runId)]);
  thread.saveCheckpoint();
  await first.close();
  await inSession(place, async (restored) => {
    if (run) await restored.record([{ ...begin, runId: run.runId }]);
    await restored.record(events.slice(until));
  });
}

const begin: DurableEvent & { type: "run.started" } = {
  type: "run.started",
  runId: "r",
  agentId: "main",
  agentType: "main",
  kind: "resume",
  requestedModel: null,
  provider: "anthropic",
  model: "m",
  modelReason: "a test",
  permissionMode: "default",
  maxTurns: 50,
};

async function inSession<T>(place: Place, work: (thread: Thread, session: Transcript) => T | Promise<T>): Promise<T> {
  const session = await openTranscript({ ...place, sessionId: "s", clock });
  try {
    const thread = new Thread("main", session);
    await thread.restore();
    return await work(thread, session);
  } finally {
    await session.close();
  }
}

/** Returns everything that callers read from a thread, with its state at the start of the next run. */
function pictureOf(thread: Thread): object {
  const { state, headHash, lastEnd, uncleaned, agentType, answerLine, newestPrompt, conversation } = thread;
  const body = Buffer.concat([...(newestPrompt?.body(newestPrompt.head.dialect, 0) ?? [])]).toString("utf8");
  const facts = { headHash, lastEnd, uncleaned, agentType, answerLine };
  return {
    state: fold(state, begin),
    facts,
    body,
    messages: conversation?.messages(),
    print: newestPrompt?.fingerprint(),
  };
}

async function isTaken(place: Place): Promise<boolean> {
  const session = await openTranscript({ ...place, sessionId: "s", clock });
  const kept = session.checkpoints?.take("main");
  await session.close();
  return kept !== undefined;
}

function checkpointIn(place: Place): string {
  return join((transcriptPath(place) ?? "").replace(/\.jsonl$/, ""), "checkpoint");
}

function newPlace(): Place {
  const place = createPlace();
  onTestFinished(() => place.remove());
  return place;
}

it("a checkpoint restores the same thread as the lines, byte for byte", async () => {
  await fc.assert(
    fc.asyncProperty(randomConversation, fc.nat(), async (conversation, number) => {
      const place = createPlace();
      try {
        await live(place, conversation, 1 + (number % conversation.events.length));
        const kept = await inSession(place, pictureOf);
        rmSync(checkpointIn(place), { force: true });
        expect(kept).toEqual(await inSession(place, pictureOf));
      } finally {
        place.remove();
      }
    }),
    { numRuns: 12, seed: 5 },
  );
});

const [conversation] = fc.sample(randomConversation, { seed: 7, numRuns: 1 });

it("a checkpoint is not used if a byte of the lines before it differs", async () => {
  const place = newPlace();
  if (conversation) await live(place, conversation, 4);
  const path = transcriptPath(place) ?? "";
  writeFileSync(path, readFileSync(path, "utf8").replace("Begin.", "Began!"));
  const words = await inSession(place, ({ conversation: chain }) => JSON.stringify(chain?.messages()));
  expect(words).toContain("Began!");
});

it("a checkpoint does not hide damage", async () => {
  const place = newPlace();
  if (conversation) await live(place, conversation, 4);
  const path = transcriptPath(place) ?? "";
  writeFileSync(path, readFileSync(path, "utf8").replace('"type":"head.set"', '"type":"head.se"}'));
  const problems = await inSession(place, (_, session) => session.problems.map(({ message }) => message));
  expect(problems.join("\n")).toContain("can't be read");
});

it("a checkpoint is not used if a power cut removed part of it", async () => {
  const place = newPlace();
  if (conversation) await live(place, conversation, 4);
  const whole = await inSession(place, pictureOf);
  expect(await isTaken(place)).toBe(true);
  truncateSync(checkpointIn(place), 900);
  expect(await isTaken(place)).toBe(false);
  expect(await inSession(place, pictureOf)).toEqual(whole);
});

it("a checkpoint contains what its format specifies", async () => {
  const place = newPlace();
  if (conversation) await live(place, conversation, 4);
  const [, facts = ""] = readFileSync(checkpointIn(place), "utf8").split("\n");
  const { format, ...parts } = JSON.parse(facts) as { format: number; state: object; chain: object };
  // If these keys or the result of the fold change, increase FORMAT in thread.ts and the number here.
  expect({ format, keys: [parts, parts.state, parts.chain].map((part) => Object.keys(part).sort().join()) }).toEqual({
    format: 11,
    keys: [
      "answer,chain,drops,ended,head,kept,lines,state,type",
      "asked,awaited,background,calls,context,cutOff,queue,repetition,said,turn,unanswered,underWay,unverified,work",
      "bytesLength,lastMark,offsets,prompt",
    ],
  });
});
