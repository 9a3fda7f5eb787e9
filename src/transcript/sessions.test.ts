import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type DurableEvent, noFacts, noUsage, type Outcome } from "../protocol/index.ts";
import { cleanUp } from "./clean-up.ts";
import { deleteSession } from "./delete-session.ts";
import { findSession, latestSessionId, listSessions } from "./list-sessions.ts";
import { notice, notices, type TestPlace, testPlace } from "./session.test-support.ts";
import { createSession, type Session } from "./session.ts";
import { projectName, sessionPaths } from "./session-paths.ts";

const day = 24 * 60 * 60 * 1000;
const longAgo = 1_600_000_000_000;

describe("the list of sessions", () => {
  it("tells of each what people look for, newest first", async () => {
    const place = testPlace();
    await conversation(place, { id: "s1", at: 1_000, prompt: "Map\n  this   repository", turns: 3 });
    await conversation(place, { id: "s2", at: 9_000, prompt: `long ${"x".repeat(100_000)}`, outcome: "failed" });
    const [second, first] = listSessions({ home: place.home });
    expect(first).toEqual({
      id: "s1",
      project: projectName(place.cwd),
      path: pathsOf(place, "s1").transcript,
      cwd: place.cwd,
      createdAt: 1_000,
      updatedAt: 1_000,
      firstPrompt: "Map this repository",
      lastOutcome: "succeeded",
      turns: 3,
      model: "test-model",
      inUse: false,
      damaged: undefined,
    });
    expect(second).toMatchObject({ id: "s2", lastOutcome: "failed" });
    expect(second?.firstPrompt).toHaveLength(200);
  });

  it("reads long sessions by their ends", async () => {
    const place = testPlace();
    await conversation(place, { id: "s1", at: 1_000, prompt: "go", filler: 3_000, turns: 2 });
    await conversation(place, { id: "s2", at: 900, prompt: "go", lastWords: "y".repeat(200_000) });
    const [first, second] = listSessions({ home: place.home });
    expect(first).toMatchObject({
      id: "s1",
      firstPrompt: "go",
      lastOutcome: "succeeded",
      turns: 2,
      damaged: undefined,
    });
    expect(second).toMatchObject({ id: "s2", lastOutcome: "succeeded" });
  });

  it("shows damaged sessions as damaged, running ones as in use, and crashed ones without an outcome", async () => {
    const place = testPlace();
    await conversation(place, { id: "garbage" });
    writeFileSync(pathsOf(place, "garbage").transcript, "\0\0\0garbage");
    await conversation(place, { id: "headless" });
    writeFileSync(
      pathsOf(place, "headless").transcript,
      `${JSON.stringify({ v: 1, id: "2", type: "notice.raised" })}\n`,
    );
    const lost = await createSession(place.options("lost"));
    await lost.append("a1", notices(1));
    await lost.close();
    mkdirSync(pathsOf(place, "directory").transcript);
    const crashed = await start(place, "crashed");
    await crashed.close();
    const running = await start(place, "running");
    const states = listSessions({ home: place.home }).map(({ id, damaged, inUse, lastOutcome }) => [
      id,
      damaged,
      inUse,
      lastOutcome,
    ]);
    expect(states.sort()).toEqual([
      ["crashed", undefined, false, undefined],
      ["directory", "It is not a file.", false, undefined],
      ["garbage", "Its first lines can't be read.", false, undefined],
      ["headless", "It does not begin as a session does.", false, undefined],
      ["lost", "Its main transcript is missing.", false, undefined],
      ["running", undefined, true, undefined],
    ]);
    await running.close();
  });

  it("is empty where nothing is", () => {
    const place = testPlace();
    expect(listSessions({ home: place.home })).toEqual([]);
    expect(latestSessionId({ home: place.home, cwd: place.cwd })).toBeUndefined();
    expect(findSession({ home: place.home, prefix: "x" })).toEqual({ kind: "none" });
  });
});

describe("finding a session", () => {
  it("goes by a unique beginning of its id, in all projects or in one", async () => {
    const place = testPlace();
    const other: TestPlace = { ...place, cwd: join(place.root, "other") };
    mkdirSync(other.cwd);
    await conversation(place, { id: "01abc" });
    await conversation(place, { id: "01abd" });
    await conversation(place, { id: "02" }, other.cwd);
    const { home } = place;
    expect(findSession({ home, prefix: "01abc" })).toMatchObject({
      kind: "one",
      session: { id: "01abc", cwd: place.cwd },
    });
    expect(findSession({ home, prefix: "02" })).toMatchObject({ kind: "one", session: { id: "02", cwd: other.cwd } });
    expect(findSession({ home, cwd: place.cwd, prefix: "02" })).toEqual({ kind: "none" });
    const many = findSession({ home, prefix: "01ab" });
    expect(many.kind === "many" ? [...many.ids].sort() : many).toEqual(["01abc", "01abd"]);
    expect(findSession({ home, prefix: "" })).toEqual({ kind: "none" });
  });

  it("by time takes the newest of the project that can be read", async () => {
    const place = testPlace();
    await conversation(place, { id: "old" });
    await conversation(place, { id: "new" });
    await conversation(place, { id: "broken" });
    touch(place, "old", longAgo);
    touch(place, "new", longAgo + day);
    writeFileSync(pathsOf(place, "broken").transcript, "broken");
    expect(latestSessionId({ home: place.home, cwd: place.cwd })).toBe("new");
    expect(latestSessionId({ home: place.home, cwd: place.root })).toBeUndefined();
  });
});

describe("deleting a session", () => {
  it("removes everything of it, and refuses one in use", async () => {
    const place = testPlace();
    const session = await start(place, "s1");
    await session.append("a1", notices(1));
    const which = { home: place.home, project: projectName(place.cwd), sessionId: "s1" };
    expect(() => deleteSession(which)).toThrow(`in use by process ${process.pid}`);
    expect(listSessions({ home: place.home })).toHaveLength(1);
    await session.close();
    deleteSession(which);
    expect(readdirSync(join(place.home, "projects", which.project))).toEqual([]);
  });
});

describe("clean-up", () => {
  it("removes old sessions that ended, and keeps what would be missed", async () => {
    const place = testPlace();
    const { home } = place;
    for (const id of ["old", "recent", "broken", "child", "worktree"]) await conversation(place, { id });
    writeFileSync(pathsOf(place, "broken").transcript, "broken");
    const crashed = await start(place, "crashed");
    await crashed.close();
    const used = await start(place, "used");
    mkdirSync(pathsOf(place, "child").subagents, { recursive: true });
    writeFileSync(join(pathsOf(place, "child").subagents, "agent-a1.jsonl"), "");
    mkdirSync(pathsOf(place, "worktree").subagents, { recursive: true });
    const ended = JSON.stringify({ v: 1, id: "1", parentId: null, at: 1, ...runEnded("succeeded", {}) });
    writeFileSync(join(pathsOf(place, "worktree").subagents, "agent-a2.jsonl"), `${ended}\n`);
    mkdirSync(join(home, "worktrees", projectName(place.cwd), "a2"), { recursive: true });
    for (const id of ["old", "broken", "child", "worktree", "crashed", "used"]) touch(place, id, longAgo);

    expect(cleanUp({ home, days: 0, now: longAgo + 1000 * day })).toEqual({ removed: [], kept: [] });
    expect(cleanUp({ home, days: 30, now: longAgo + 30 * day })).toEqual({ removed: [], kept: [] });
    const { removed, kept } = cleanUp({ home, days: 30, now: longAgo + 31 * day });
    expect(removed).toEqual(["old"]);
    expect(Object.fromEntries(kept.map(({ id, reason }) => [id, reason]))).toEqual({
      broken: "It is damaged: Its first lines can't be read.",
      child: "Its agent a1 did not end.",
      crashed: "Its last run did not end; it can be resumed.",
      used: "It is in use.",
      worktree: "The worktree of its agent a2 is kept.",
    });
    expect(listSessions({ home }).map(({ id }) => id)).toContain("recent");
    expect(listSessions({ home }).map(({ id }) => id)).not.toContain("old");
    await used.close();
  });
});

interface Conversation {
  readonly id: string;
  readonly at?: number;
  readonly prompt?: string;
  readonly outcome?: Outcome;
  readonly turns?: number;
  readonly filler?: number;
  readonly lastWords?: string;
}

async function conversation(place: TestPlace, how: Conversation, cwd = place.cwd): Promise<void> {
  const session = await start({ ...place, cwd }, how.id, how);
  if (how.filler)
    await session.append(
      "main",
      Array.from({ length: how.filler }, (_, index) => notice(`filler ${index}`)),
    );
  await session.append("main", [runEnded(how.outcome ?? "succeeded", how)]);
  await session.close();
}

async function start(place: TestPlace, id: string, how: Partial<Conversation> = {}): Promise<Session> {
  const clock = { now: () => how.at ?? longAgo, monotonic: () => 0 };
  const session = await createSession({ home: place.home, cwd: place.cwd, sessionId: id, clock });
  await session.append("main", [
    { type: "session.created", sessionId: id, cwd: place.cwd, version: "0", serializer: 1 },
    {
      type: "run.started",
      runId: "r1",
      agentId: "main",
      agentType: "main",
      kind: "fresh",
      requestedModel: null,
      provider: "test",
      model: "test-model",
      modelReason: "test",
      permissionMode: "default",
      maxTurns: 10,
    },
    { type: "prompt.received", content: [{ type: "text", text: how.prompt ?? "hello" }], from: "person" },
  ]);
  return session;
}

function runEnded(outcome: Outcome, how: Partial<Conversation>): DurableEvent {
  return {
    type: "run.ended",
    runId: "r1",
    outcome,
    reason: "done",
    text: how.lastWords ?? "done",
    turns: how.turns ?? 1,
    usage: noUsage,
    milliseconds: 1,
    modelMilliseconds: 1,
    facts: noFacts,
  };
}

function pathsOf(place: TestPlace, sessionId: string) {
  return sessionPaths({ home: place.home, project: projectName(place.cwd), sessionId });
}

function touch(place: TestPlace, id: string, time: number): void {
  const paths = pathsOf(place, id);
  for (const path of [paths.transcript, paths.wal, paths.subagents]) {
    try {
      utimesSync(path, time / 1000, time / 1000);
    } catch {
      // Not every session has each of them.
    }
  }
}
