import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DurableEvent } from "../../protocol/index.ts";
import { isRoot, needs } from "../../testing/needs.test-support.ts";
import { conversation, day, longAgo, pathsOf, runEnded, start, touch } from "../journal/conversation.test-support.ts";
import { testPlace } from "../journal/session.test-support.ts";
import { openTranscript } from "../journal/transcript.ts";
import { projectName } from "../session-paths.ts";
import { cleanUp, cleanUpDaily } from "./clean-up.ts";
import { findSession, listSessions } from "./list-sessions.ts";

describe("clean-up", () => {
  it("deletes old sessions that have ended, and keeps those with unfinished work", async () => {
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

    expect(cleanUp({ home, days: 0, now: longAgo + 1000 * day })).toEqual({ removed: [], kept: [], finished: true });
    expect(cleanUp({ home, days: 30, now: longAgo + 30 * day })).toEqual({ removed: [], kept: [], finished: true });
    const { removed, kept } = cleanUp({ home, days: 30, now: longAgo + 31 * day });
    expect(removed).toEqual(["old"]);
    expect(Object.fromEntries(kept.map(({ id, reason }) => [id, reason]))).toEqual({
      broken: "It is damaged: Its first lines can't be read.",
      child: "Agent a1 has not finished.",
      crashed: "Its last run has not finished; it can be resumed.",
      used: "It is in use.",
      worktree: "The worktree of agent a2 still exists.",
    });
    expect(listSessions({ home }).map(({ id }) => id)).toContain("recent");
    expect(listSessions({ home }).map(({ id }) => id)).not.toContain("old");
    await used.close();
  });

  it("keeps a session with an undelivered result until it is delivered", async () => {
    const place = testPlace();
    const { home } = place;
    const launched: DurableEvent = {
      type: "tool.ended",
      callId: "c1",
      name: "Task",
      result: { outcome: "ok", content: [], facts: { launched: { agentId: "a1", runId: "r2" } } },
      milliseconds: 1,
    };
    const told: DurableEvent = {
      type: "notices.delivered",
      notices: [{ agentId: "a1", runId: "r2", outcome: "succeeded" }],
      text: "a1 has ended",
    };
    for (const id of ["told", "untold"]) {
      const session = await start(place, id);
      await session.append("main", [launched]);
      await session.append("a1", [runEnded("succeeded", {})]);
      await session.append("main", [...(id === "told" ? [told] : []), runEnded("succeeded", {})]);
      await session.close();
      touch(place, id, longAgo);
    }
    expect(cleanUp({ home, days: 30, now: longAgo + 31 * day })).toEqual({
      removed: ["told"],
      kept: [{ id: "untold", reason: "The result of agent a1 has not been delivered." }],
      finished: true,
    });
  });

  it(
    "deletes directories that their owner can't enter or change",
    needs("a user other than root", !isRoot),
    async () => {
      const place = testPlace();
      const { home } = place;
      const lockDirectories = (session: string): void => {
        const module = join(session, "scratch/module");
        mkdirSync(join(module, "locked"), { recursive: true });
        writeFileSync(join(module, "file"), "");
        chmodSync(join(module, "locked"), 0);
        chmodSync(module, 0o500);
      };
      for (const id of ["old", "interrupted"]) {
        await conversation(place, { id });
        touch(place, id, longAgo);
        lockDirectories(pathsOf(place, id).directory);
      }
      const { transcript, deleted, projectDirectory } = pathsOf(place, "interrupted");
      renameSync(transcript, deleted);
      expect(cleanUp({ home, days: 30, now: longAgo + 31 * day })).toMatchObject({ removed: ["old"], kept: [] });
      expect(readdirSync(projectDirectory)).toEqual([]);
    },
  );

  it("leaves the rest for the next clean-up when time runs out", async () => {
    const place = testPlace();
    const { home } = place;
    for (const id of ["s1", "s2", "s3"]) {
      await conversation(place, { id });
      touch(place, id, longAgo);
    }
    let times = 0;
    const first = cleanUp({ home, days: 30, now: longAgo + 31 * day, hasTime: () => times++ < 2 });
    expect(first).toMatchObject({ finished: false, removed: [expect.any(String), expect.any(String)] });
    const second = cleanUp({ home, days: 30, now: longAgo + 31 * day });
    expect([...first.removed, ...second.removed].sort()).toEqual(["s1", "s2", "s3"]);
  });
});

describe("a process that dies while it deletes a session", () => {
  it("leaves no visible session, and the next clean-up removes the rest", async () => {
    const place = testPlace();
    const { home } = place;
    for (const id of ["s1", "s2", "whole"]) {
      const session = await start(place, id);
      await session.append("a1", [runEnded("succeeded", {})]);
      await session.close();
    }
    const first = pathsOf(place, "s1");
    const second = pathsOf(place, "s2");
    renameSync(first.transcript, first.deleted);
    renameSync(second.transcript, second.deleted);
    renameSync(second.directory, join(second.projectDirectory, ".deleted-s2"));
    expect(listSessions({ home }).map(({ id }) => id)).toEqual(["whole"]);
    expect(findSession({ home, id: "s" })).toEqual({ kind: "none" });
    await expect(openTranscript(place.options("s1"))).rejects.toThrow("no session s1");
    cleanUp({ home, days: 30, now: longAgo });
    expect(readdirSync(first.projectDirectory).sort()).toEqual(["whole", "whole.jsonl"]);
  });
});

describe("the daily clean-up", () => {
  it("runs once a day, and never if it is off", async () => {
    const place = testPlace();
    const { home } = place;
    await conversation(place, { id: "s1" });
    touch(place, "s1", longAgo);
    const at = (time: number) => ({ now: () => time, monotonic: () => 0 });
    const later = longAgo + 40 * day;
    expect(await cleanUpDaily({ home, days: 0, clock: at(later) })).toBeUndefined();
    expect(await cleanUpDaily({ home, days: 30, clock: at(later) })).toMatchObject({ removed: ["s1"] });
    await conversation(place, { id: "s2" });
    touch(place, "s2", longAgo);
    expect(await cleanUpDaily({ home, days: 30, clock: at(later + day - 1) })).toBeUndefined();
    expect(await cleanUpDaily({ home, days: 30, clock: at(later + day) })).toMatchObject({ removed: ["s2"] });
  });

  it("continues with the next command if it ran out of time", async () => {
    const place = testPlace();
    const { home } = place;
    for (const id of ["s1", "s2"]) {
      await conversation(place, { id });
      touch(place, id, longAgo);
    }
    let time = 0;
    const clock = { now: () => longAgo + 40 * day, monotonic: () => (time += 300) };
    expect(await cleanUpDaily({ home, days: 30, clock })).toMatchObject({ finished: false });
    expect(await cleanUpDaily({ home, days: 30, clock: { ...clock, monotonic: () => 0 } })).toMatchObject({
      finished: true,
    });
    expect(listSessions({ home })).toEqual([]);
  });

  it("tolerates a state directory that it can't write to", async () => {
    const place = testPlace();
    writeFileSync(join(place.root, "home"), "");
    const clock = { now: () => longAgo, monotonic: () => 0 };
    expect(await cleanUpDaily({ home: place.home, days: 30, clock })).toBeUndefined();
    expect(existsSync(join(place.root, "home"))).toBe(true);
  });
});
