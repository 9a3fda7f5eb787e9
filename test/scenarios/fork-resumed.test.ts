import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunUpdate } from "../../src/protocol/index.ts";
import type { RecordedRequest, Reply } from "../../src/testing/index.ts";
import { asAfterKill, type Place } from "./delegation-place.ts";
import { forkCall, messagesIn, one, type Part, play, saying, stage, toolResults, unmarked } from "./fork-place.ts";

const read = { tool: "Read", input: { file_path: "notes.txt" } };

describe("a fork whose process died", () => {
  it("continues with the same bytes, wherever it stopped, and its origin gets the report", async () => {
    const left: Place[] = [];
    const kill =
      (part: Part): Part =>
      (turn, request) => {
        left.push(asAfterKill(on, left.length));
        return part(turn, request);
      };
    const on = await stage({
      MAIN: kill(
        saying({ content: [read] }, { content: [forkCall("ONE: a"), forkCall("TWO: b")] }, { content: "Both." }),
      ),
      ONE: kill(saying({ content: [read] }, { content: "One is done." })),
      TWO: kill(saying({ content: "Two is done." })),
    });
    const { session } = await play(on);
    expect(left).toHaveLength(6);
    for (const [index, at] of left.entries()) {
      const after = await stage(
        {
          MAIN: (_, request) => mainAnswer(request),
          ONE: saying({ content: "One, at last." }),
          TWO: saying({ content: "Two, at last." }),
        },
        { at },
      );
      const { result } = await play(after, { resume: session.id }, "");
      expect(result).toMatchObject({ outcome: "succeeded", text: "Both, at last." });
      const told = unmarked(one(after.requests("MAIN").at(-1)));
      for (const report of [/One(, at last| is done)\./, /Two(, at last| is done)\./]) expect(told).toMatch(report);
      // In the first two copies, the forks did not exist yet, and their origin's conversation has changed since.
      if (index < 2) continue;
      const asked = [...on.requests("ONE"), ...on.requests("TWO")].map(shared);
      for (const request of [...after.requests("ONE"), ...after.requests("TWO")])
        expect(asked).toContain(shared(request));
    }
  });
});

/** Returns what a fork shares with its siblings: everything before the introduction, which must appear exactly once. */
function shared(request: RecordedRequest): string {
  const [before = "", ...more] = unmarked(request).split("You are a fork of");
  expect(more).toHaveLength(1);
  return before;
}

function mainAnswer(request: RecordedRequest): Reply {
  const { rawBody } = request;
  if (!rawBody.includes('"tool_use"')) return { content: [read] };
  if (!rawBody.includes('"name":"Task","input"')) return { content: [forkCall("ONE: a"), forkCall("TWO: b")] };
  return { content: "Both, at last." };
}

describe("a fork whose origin's transcript", () => {
  async function endedFork(change: (home: string, sessionId: string) => void) {
    const on = await stage({
      MAIN: saying({ content: [read] }, { content: [forkCall("ONE: a")] }, { content: "Done." }),
      ONE: saying({ content: "One is done." }),
    });
    const { session } = await play(on);
    const [report = ""] = toolResults(on.requests("MAIN")[2]);
    const id = /id="(a\w+)"/.exec(report)?.[1] ?? "";
    change(on.home, session.id);
    const after = await stage(
      {
        MAIN: saying({ content: [forkCall("and more", { resume: id, subagent_type: "fork" })] }, { content: "ok" }),
        ONE: saying({ content: [forkCall("deeper")] }, { content: "More is done." }),
      },
      { at: on },
    );
    return { ...(await play(after, { resume: session.id }, "Go on.")), after };
  }
  const eventsOf = (updates: readonly RunUpdate[]) =>
    updates.flatMap((update) => (update.type === "subagent.event" ? [update.event] : []));

  it("is unchanged reads all of it from the cache", async () => {
    const { after, updates } = await endedFork(() => {});
    expect(toolResults(after.requests("MAIN")[1])[0]).toContain("More is done.");
    expect(messagesIn(one(after.requests("ONE")[0])).at(-1)?.content[0]?.text).toBe("and more");
    expect(toolResults(after.requests("ONE")[1])[0]).toContain("Task was not run.");
    expect(eventsOf(updates).map(({ type }) => type)).not.toContain("cache.missed");
  });

  it("was changed continues with the current content, and reports what that costs", async () => {
    const { after, updates } = await endedFork((home, sessionId) =>
      edit(home, `${sessionId}.jsonl`, (text) => text.replaceAll("alpha", "ALPHA")),
    );
    expect(toolResults(after.requests("MAIN")[1])[0]).toContain("More is done.");
    expect(eventsOf(updates)).toContainEqual(expect.objectContaining({ type: "cache.missed", dimension: "messages" }));
    expect(eventsOf(updates)).toContainEqual(expect.objectContaining({ type: "notice.raised", code: "fork" }));
  });

  it("is missing can't continue, and says so", async () => {
    const { after } = await endedFork((home, sessionId) =>
      edit(home, join(sessionId, "subagents"), (text) =>
        text.replace('"agentId":"main","line":"', '"agentId":"main","line":"9'),
      ),
    );
    expect(toolResults(after.requests("MAIN")[1])[0]).toMatch(
      /can't be resumed: it continues the conversation of main, which is no longer on disk/,
    );
    expect(after.requests("ONE")).toEqual([]);
  });
});

/** Changes one of the session's files, or the only transcript in one of its directories. */
function edit(home: string, name: string, change: (text: string) => string): void {
  const project = join(home, "projects", readdirSync(join(home, "projects"))[0] ?? "");
  const path = name.endsWith(".jsonl")
    ? join(project, name)
    : join(project, name, readdirSync(join(project, name)).find((each) => each.endsWith(".jsonl")) ?? "");
  const before = readFileSync(path, "utf8");
  const after = change(before);
  if (after === before) throw new Error("nothing was changed");
  writeFileSync(path, after);
}
