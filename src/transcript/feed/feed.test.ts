import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FeedPosition } from "../../ports/index.ts";
import type { SessionUpdate } from "../../protocol/index.ts";
import { createMemoryTranscript } from "../journal/memory-transcript.ts";
import { fixedClock, messagesOf, notice, notices, testPlace } from "../journal/session.test-support.ts";
import { createTranscript, openTranscript, type Transcript } from "../journal/transcript.ts";
import { createFeed } from "./feed.ts";

const stores = [
  { kind: "on files", create: () => createTranscript(testPlace().options()) },
  { kind: "in memory", create: async () => createMemoryTranscript({ sessionId: "s1", clock: fixedClock }) },
];

/** Reads until the number of updates is reached, or to the end. */
async function take(transcript: Transcript, count: number, position: FeedPosition = {}): Promise<SessionUpdate[]> {
  const found: SessionUpdate[] = [];
  if (count === 0) return found;
  for await (const update of transcript.feed.read(position)) {
    found.push(update);
    if (found.length === count) break;
  }
  return found;
}

function textsOf(updates: readonly SessionUpdate[]): string[] {
  return updates.flatMap(({ event }) => ("id" in event ? messagesOf([event]) : [event.type]));
}

describe.each(stores)("the feed of a session $kind", ({ create }) => {
  it("returns the lines of all agents in the order they were written", async () => {
    const session = await create();
    await session.append("main", [notice("one"), notice("two")]);
    await session.append("a1", [notice("three")]);
    await session.append("main", [notice("four")]);
    const updates = await take(session, 4);
    expect(updates.map(({ agentId, seq }) => [agentId, seq])).toEqual([
      ["main", 1],
      ["main", 2],
      ["a1", 3],
      ["main", 4],
    ]);
    expect(textsOf(updates)).toEqual(["one", "two", "three", "four"]);
    expect(textsOf(await take(session, 2, { after: 2 }))).toEqual(["three", "four"]);
    await session.close();
  });

  it("gives a new reader an unfinished response from its beginning, and only once", async () => {
    const session = await create();
    await session.append("main", [notice("one")]);
    session.feed.live("main", { type: "thinking.delta", turn: 1, text: "Hm." });
    session.feed.live("main", { type: "text.delta", turn: 1, text: "Hel" });
    session.feed.live("main", { type: "text.delta", turn: 1, text: "lo" });
    session.feed.live("a1", { type: "text.delta", turn: 1, text: "x".repeat(200_000) });
    session.feed.live("a1", { type: "text.delta", turn: 1, text: "y" });
    const iterator = session.feed.read()[Symbol.asyncIterator]();
    const next = async () => (await iterator.next()).value;
    expect((await next())?.seq).toBe(1);
    session.feed.live("main", { type: "text.delta", turn: 1, text: " you" });
    const deltas = [await next(), await next(), await next()];
    expect(deltas).toEqual([
      { agentId: "main", event: { type: "thinking.delta", turn: 1, text: "Hm.", repeated: 0 } },
      { agentId: "main", event: { type: "text.delta", turn: 1, text: "Hello", repeated: 1 } },
      { agentId: "main", event: { type: "text.delta", turn: 1, text: " you" } },
    ]);
    await iterator.return?.(undefined);
    const failed = { code: "server_error", message: "no", retryable: false } as const;
    await session.append("main", [
      { type: "model.failed", turn: 1, error: failed, partial: [], milliseconds: 1 } as never,
    ]);
    session.feed.live("main", { type: "text.delta", turn: 2, text: "New" });
    expect((await take(session, 3)).at(-1)?.event).toEqual({ type: "text.delta", turn: 2, text: "New", repeated: 0 });
    await session.close();
  });

  it("continues with new lines and live events, and ends with the session", async () => {
    const session = await create();
    await session.append("main", [notice("one")]);
    const read = session.feed.read();
    const iterator = read[Symbol.asyncIterator]();
    expect((await iterator.next()).value?.seq).toBe(1);
    const next = iterator.next();
    session.feed.live("a1", { type: "text.delta", turn: 1, text: "Hel" });
    await session.append("a1", [notice("two")]);
    expect((await next).value).toEqual({ agentId: "a1", event: { type: "text.delta", turn: 1, text: "Hel" } });
    expect((await iterator.next()).value?.seq).toBe(2);
    const end = iterator.next();
    await session.close();
    expect(await end).toEqual({ done: true, value: undefined });
    expect(textsOf(await take(session, 9))).toEqual(["one", "two"]);
  });

  it("ends when the signal fires, even while it waits", async () => {
    const session = await create();
    const abort = new AbortController();
    const all = take(session, 1, { signal: abort.signal });
    abort.abort();
    expect(await all).toEqual([]);
    await session.close();
  });

  it("lets a slow reader miss live events but no line", async () => {
    const session = await create();
    const iterator = session.feed.read()[Symbol.asyncIterator]();
    const first = iterator.next();
    for (let index = 0; index < 60; index += 1) {
      await session.append(`a${index % 7}`, notices(100, index * 100));
      session.feed.live("main", { type: "text.delta", turn: 1, text: "x" });
    }
    await session.close();
    const lines = [(await first).value as SessionUpdate];
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) lines.push(next.value);
    expect(lines.flatMap(({ seq }) => seq ?? [])).toEqual(Array.from({ length: 6_000 }, (_, index) => index + 1));
  });

  it("returns the same lines to every reader from any position, at any time", async () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ agent: fc.constantFrom("main", "a1", "a2"), lines: fc.integer({ min: 1, max: 3 }) }),
        fc.record({ readAfter: fc.nat(12) }),
        fc.constant("pause" as const),
      ),
      { maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const session = await create();
        const readers: { after: number; updates: Promise<SessionUpdate[]> }[] = [];
        let written = 0;
        for (const step of list) {
          if (step === "pause") await new Promise((resolve) => setImmediate(resolve));
          else if ("readAfter" in step)
            readers.push({
              after: step.readAfter,
              updates: take(session, Number.POSITIVE_INFINITY, { after: step.readAfter }),
            });
          else {
            await session.append(step.agent, notices(step.lines));
            written += step.lines;
          }
        }
        await session.close();
        for (const { after, updates } of readers) {
          const expected = Array.from({ length: Math.max(0, written - after) }, (_, index) => after + index + 1);
          expect((await updates).map(({ seq }) => seq)).toEqual(expected);
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe("readers that begin at the same time", () => {
  it("share one read of the transcript, until a line is written", async () => {
    const session = createMemoryTranscript({ sessionId: "s1", clock: fixedClock });
    await session.append("main", notices(3));
    let reads = 0;
    const feed = createFeed({
      agents: session.agents,
      read: (agentId) => {
        reads += 1;
        return session.read(agentId);
      },
    });
    const first = (after: number) => feed.read({ after })[Symbol.asyncIterator]().next();
    const found = await Promise.all([first(0), first(1), first(2)]);
    expect(found.map(({ value }) => value?.seq)).toEqual([1, 2, 3]);
    expect(found[0]?.value?.event).toBe((await first(0)).value?.event);
    expect(reads).toBe(1);
    feed.publish("main", await session.append("main", [notice("four")]));
    expect((await first(3)).value?.seq).toBe(4);
    expect(reads).toBe(2);
    feed.close();
    await session.close();
  });
});

describe("numbers of lines", () => {
  it("continue when the session is opened again", async () => {
    const place = testPlace();
    const first = await createTranscript(place.options());
    await first.append("main", notices(2));
    await first.append("a1", notices(3));
    await first.close();
    const second = await openTranscript(place.options());
    const [line] = await second.append("main", [notice("more")]);
    expect(line?.seq).toBe(6);
    await second.close();
  });

  it("are not reused after a crash, because a client may have received lines that were lost", async () => {
    const place = testPlace();
    const first = await createTranscript(place.options());
    await first.append("main", notices(2));
    const path = first.path ?? "";
    const lock = path.replace(/\.jsonl$/, "/lock");
    const dead = { ...JSON.parse(readFileSync(lock, "utf8")), pid: 4_194_303 };
    const [oldest] = readFileSync(path, "utf8").split("\n");
    await first.close();
    writeFileSync(lock, `${JSON.stringify(dead)}\n`);
    writeFileSync(path, `${oldest}\n`);
    const second = await openTranscript(place.options());
    expect(second.leftOpen).toBe(true);
    const [line] = await second.append("main", [notice("more")]);
    expect(line?.seq).toBeGreaterThan(2);
    await second.close();
  });

  it("are assigned to lines from earlier versions in the order of their times", async () => {
    const place = testPlace();
    const first = await createTranscript(place.options());
    await first.append("main", notices(3));
    await first.append("a1", notices(2, 10));
    const [main = "", sub = ""] = [first.path, first.path?.replace(/\.jsonl$/, "/subagents/agent-a1.jsonl")];
    await first.close();
    age(main, [100, 300, 200]);
    age(sub, [150, 400]);
    const second = await openTranscript(place.options());
    await second.append("a1", [notice("new")]);
    const updates = await take(second, 6);
    expect(textsOf(updates)).toEqual(["message 1", "message 10", "message 2", "message 3", "message 11", "new"]);
    expect(updates.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
    await second.close();
  });
});

/** Rewrites a transcript as an earlier version would have written it, at these times. */
function age(path: string, times: readonly number[]): void {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const old = lines.map((text, index) => JSON.stringify({ ...JSON.parse(text), seq: undefined, at: times[index] }));
  writeFileSync(path, `${old.join("\n")}\n`);
}
