import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SessionUpdate } from "../../protocol/index.ts";
import { bundle } from "../journal/bundle.test-support.ts";
import { pathsOf } from "../journal/conversation.test-support.ts";
import { messagesOf, notice, notices, type TestPlace, testPlace } from "../journal/session.test-support.ts";
import { createTranscript, openTranscript } from "../journal/transcript.ts";
import { readSession } from "../reading/read-session.ts";
import { type FollowOptions, followSession } from "./follow-session.ts";
import { readSessionLines } from "./session-lines.ts";

async function follow(options: FollowOptions): Promise<SessionUpdate[]> {
  const found: SessionUpdate[] = [];
  for await (const update of followSession(options)) found.push(update);
  return found;
}

function textsOf(updates: readonly SessionUpdate[]): string[] {
  return updates.flatMap(({ event }) => ("id" in event ? messagesOf([event]) : [event.type]));
}

/** Creates a session with lines from two agents. Returns the session and the paths of the agents' files. */
async function createSession(place: TestPlace) {
  const session = await createTranscript(place.options());
  await session.append("main", notices(2));
  await session.append("a1", [notice("message 3")]);
  const { transcript: path, subagents } = pathsOf(place, "s1");
  return { session, path, agentFile: join(subagents, "agent-a1.jsonl") };
}

describe("a follower of a session", () => {
  it("returns the lines of all agents in order from any position, and ends if the session is not in use", async () => {
    const { session, path } = await createSession(testPlace());
    await session.append("main", [notice("message 4")]);
    await session.close();
    const all = await follow({ path });
    expect(all.map(({ agentId, seq }) => [agentId, seq])).toEqual([
      ["main", 1],
      ["main", 2],
      ["a1", 3],
      ["main", 4],
    ]);
    expect(await follow({ path, after: 2 })).toEqual(all.slice(2));
    expect(await follow({ path, after: 9 })).toEqual([]);
    expect(await follow({ path: join(dirname(path), "missing.jsonl") })).toEqual([]);
  });

  it("continues with new lines and new agents, says when it has caught up, and ends when the session is closed", async () => {
    const { session, path } = await createSession(testPlace());
    const found: string[] = [];
    let caughtUp = 0;
    const done = (async () => {
      for await (const update of followSession({ path, onCaughtUp: () => (caughtUp += 1) })) {
        found.push(...textsOf([update]));
        if (found.length === 4) await session.append("a2", [notice("message 5")]);
        if (found.length === 5) await session.close();
        if (found.length !== 3) continue;
        expect(caughtUp).toBe(0);
        setImmediate(() => void session.append("main", [notice("message 4")]));
      }
    })();
    await done;
    expect(caughtUp).toBe(1);
    expect(found).toEqual(messagesOf(notices(5)));
  });

  it("ends when the signal fires, even while it waits", async () => {
    const { session, path } = await createSession(testPlace());
    const waiting = new AbortController();
    const onCaughtUp = () => void setImmediate(() => waiting.abort());
    expect(await follow({ path, signal: waiting.signal, onCaughtUp })).toHaveLength(3);
    expect(await follow({ path, signal: AbortSignal.abort() })).toEqual([]);
    await session.close();
  });

  it("waits for the rest of a line that is being written", async () => {
    const { session, path, agentFile } = await createSession(testPlace());
    const [line = ""] = readFileSync(agentFile, "utf8").split("\n");
    const next = JSON.stringify({ ...JSON.parse(line), id: "2", parentId: "1", seq: 4, message: "grüße" });
    const bytes = Buffer.from(`${next}\n`);
    const half = bytes.indexOf("ü") + 1;
    appendFileSync(agentFile, bytes.subarray(0, half));
    const onCaughtUp = () => {
      appendFileSync(agentFile, bytes.subarray(half));
      void session.close();
    };
    expect(textsOf(await follow({ path, onCaughtUp }))).toEqual([...messagesOf(notices(3)), "grüße"]);
  });

  it("returns a line only once if it is written again after a failed write, and then the lines after it", async () => {
    const { session, path, agentFile } = await createSession(testPlace());
    const long = "x".repeat(1_000);
    await session.append("a1", [notice("message 4"), notice(long)]);
    const text = readFileSync(agentFile, "utf8");
    const [first = "", second = "", third = ""] = text.split("\n");
    const fourth = JSON.stringify({ ...JSON.parse(second), id: "4", parentId: "3", seq: 7, message: "message 7" });
    const found: string[] = [];
    const onCaughtUp = () => {
      truncateSync(agentFile, first.length + 1);
      void session.append("main", [notice("message 6")]);
    };
    for await (const update of followSession({ path, onCaughtUp })) {
      found.push(...textsOf([update]));
      if (found.length !== 6) continue;
      const again = [first, second, second, third.replace(long, "x"), fourth];
      writeFileSync(agentFile, `${again.join("\n")}\n`);
      await session.close();
    }
    expect(found).toEqual([...messagesOf(notices(4)), long, "message 6", "message 7"]);
  });

  it("numbers lines from earlier versions in the same way as opening the session does", async () => {
    const place = testPlace();
    const { session, path, agentFile } = await createSession(place);
    await session.close();
    for (const [file, times] of [
      [path, [100, 300]],
      [agentFile, [200]],
    ] as const) {
      const lines = readFileSync(file, "utf8").trimEnd().split("\n");
      const old = lines.map((text, index) => JSON.stringify({ ...JSON.parse(text), seq: undefined, at: times[index] }));
      writeFileSync(file, `${old.join("\n")}\n`);
    }
    const opened = await openTranscript(place.options());
    await opened.append("main", [notice("new")]);
    await opened.close();
    const updates = await follow({ path });
    expect(updates.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect(textsOf(updates)).toEqual(["message 1", "message 3", "message 2", "new"]);
    expect(await follow({ path, after: 1 })).toEqual(updates.slice(1));
  });

  it("returns every line once and in order while other processes write and are killed", async () => {
    const program = bundle("write-until-killed", testPlace().root);
    const lives = fc.record({
      seed: fc.nat(1_000_000),
      after: fc.nat(60),
      kills: fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(lives, async ({ seed, after, kills }) => {
        const place = testPlace();
        const { transcript: path } = pathsOf(place, "s1");
        for (const [index, lines] of kills.entries()) {
          const words = [place.home, place.cwd, "s1", index === 0 ? "create" : "open", String(seed + index)];
          const writer = spawn(process.execPath, [program, ...words], { stdio: ["ignore", "pipe", "inherit"] });
          onTestFinished(() => void writer.kill("SIGKILL"));
          await reports(writer, 1);
          const found = follow({ path, after });
          await reports(writer, lines);
          writer.kill("SIGKILL");
          await once(writer, "exit");
          const updates = await found;
          expect(updates.map(({ seq = 0 }) => seq)).toEqual(
            [...updates.map(({ seq = 0 }) => seq)].sort((a, b) => a - b),
          );
          expect(updates).toEqual(await readSessionLines(readSession(path), after));
        }
      }),
      { numRuns: 3 },
    );
  });
});

/** Resolves when the writer has reported this many lines. */
async function reports({ stdout }: ChildProcess, count: number): Promise<void> {
  if (stdout === null) throw new Error("The writer has no output.");
  const lines = createInterface({ input: stdout });
  let seen = 0;
  for await (const _ of lines) if (++seen >= count) return;
  throw new Error("The writer ended.");
}
