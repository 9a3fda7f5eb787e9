import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileCache } from "../../lib/index.ts";
import { conversation, day, longAgo, pathsOf, runEnded, start, touch } from "../journal/conversation.test-support.ts";
import { notices, type TestPlace, testPlace } from "../journal/session.test-support.ts";
import { createTranscript, openTranscript } from "../journal/transcript.ts";
import { projectName } from "../session-paths.ts";
import { deleteSession } from "./delete-session.ts";
import { findSession, latestSessionId, listSessions } from "./list-sessions.ts";

describe("the list of sessions", () => {
  it("shows the main facts about each session, newest first", async () => {
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
      lastReason: "done",
      verified: undefined,
      turns: 3,
      model: "test-model",
      inUse: false,
      damaged: undefined,
    });
    expect(second).toMatchObject({ id: "s2", lastOutcome: "failed" });
    expect(second?.firstPrompt).toHaveLength(200);
  });

  it("counts the turns of all runs, and shows whether the last run was verified", async () => {
    const place = testPlace();
    await conversation(place, { id: "s1", turns: 3 });
    const again = await openTranscript(place.options("s1"));
    await again.append("main", [{ type: "model.requested", turn: 4 }, runEnded("succeeded", { verified: false })]);
    await again.close();
    expect(listSessions({ home: place.home })).toMatchObject([{ turns: 4, lastOutcome: "succeeded", verified: false }]);
  });

  it("shows every change to a session, even with a cache", async () => {
    const place = testPlace();
    const cache = new FileCache();
    const session = await start(place, "s1");
    const first = listSessions({ home: place.home, cache });
    expect(first).toMatchObject([{ lastOutcome: undefined, inUse: true }]);
    await session.append("main", [runEnded("succeeded", {})]);
    await session.close();
    expect(listSessions({ home: place.home, cache })).toMatchObject([{ lastOutcome: "succeeded", inUse: false }]);
    await conversation(place, { id: "s2" });
    expect(listSessions({ home: place.home, cache })).toHaveLength(2);
  });

  it("reads only the ends of long sessions", async () => {
    const place = testPlace();
    await conversation(place, { id: "s1", at: 1_000, prompt: "go", filler: 3_000, turns: 2 });
    await conversation(place, { id: "s2", at: 900, prompt: "go", lastText: "y".repeat(200_000) });
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

  it("marks damaged and running sessions, and shows crashed ones without an outcome", async () => {
    const place = testPlace();
    await conversation(place, { id: "garbage" });
    writeFileSync(pathsOf(place, "garbage").transcript, "\0\0\0garbage");
    await conversation(place, { id: "headless" });
    writeFileSync(
      pathsOf(place, "headless").transcript,
      `${JSON.stringify({ v: 1, id: "2", type: "notice.raised" })}\n`,
    );
    const lost = await createTranscript(place.options("lost"));
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
      ["directory", "Its main transcript is not a file.", false, undefined],
      ["garbage", "Its first lines can't be read.", false, undefined],
      ["headless", "Its first line is missing or damaged.", false, undefined],
      ["lost", "Its main transcript is missing.", false, undefined],
      ["running", undefined, true, undefined],
    ]);
    await running.close();
  });

  it("is empty if there are no sessions", () => {
    const place = testPlace();
    expect(listSessions({ home: place.home })).toEqual([]);
    expect(latestSessionId({ home: place.home, cwd: place.cwd })).toBeUndefined();
    expect(findSession({ home: place.home, id: "x" })).toEqual({ kind: "none" });
  });
});

describe("finding a session", () => {
  it("accepts a unique prefix of its id, in all projects or in one", async () => {
    const place = testPlace();
    const other: TestPlace = { ...place, cwd: join(place.root, "other") };
    mkdirSync(other.cwd);
    await conversation(place, { id: "01abc" });
    await conversation(place, { id: "01abd" });
    await conversation(place, { id: "02" }, other.cwd);
    const { home } = place;
    expect(findSession({ home, id: "01abc" })).toMatchObject({
      kind: "one",
      session: { id: "01abc", cwd: place.cwd },
    });
    expect(findSession({ home, id: "02" })).toMatchObject({ kind: "one", session: { id: "02", cwd: other.cwd } });
    expect(findSession({ home, cwd: place.cwd, id: "02" })).toEqual({ kind: "none" });
    const many = findSession({ home, id: "01ab" });
    expect(many.kind === "many" ? [...many.ids].sort() : many).toEqual(["01abc", "01abd"]);
    expect(findSession({ home, id: "" })).toEqual({ kind: "none" });
  });

  it("without an id returns the newest readable session in the project", async () => {
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
  it("removes all its files, and is refused while the session is in use", async () => {
    const place = testPlace();
    const session = await start(place, "s1");
    await session.append("a1", notices(1));
    const which = { home: place.home, project: projectName(place.cwd), sessionId: "s1" };
    expect(() => deleteSession(which)).toThrow("already open in this process");
    expect(listSessions({ home: place.home })).toHaveLength(1);
    await session.close();
    deleteSession(which);
    expect(readdirSync(join(place.home, "projects", which.project))).toEqual([]);
  });
});
