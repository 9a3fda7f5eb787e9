import { describe, expect, it } from "vitest";
import {
  foldSession,
  foldSpans,
  type Item,
  inTreeOrder,
  newSessionView,
  noSpans,
  type ViewUpdate,
} from "../../src/client/index.ts";
import type { Line } from "../../src/protocol/index.ts";
import { placeOf } from "../../src/web/approvals/change-place.ts";
import { changedLines, linesOf } from "../../src/web/parts/diff-lines.ts";
import { shownItems } from "../../src/web/session/shown-items.ts";
import { treeRows } from "../../src/web/session/tree-rows.ts";
import { createStore, until } from "../../src/web/state/store.ts";

const event = (agentId: string, type: string, fields: object, at = 0): ViewUpdate =>
  ({ agentId, event: { v: 1, id: "1", parentId: null, at, type, ...fields } }) as unknown as ViewUpdate;

describe("the spans of the timeline", () => {
  it("have a row for each of the calls that run at the same time", () => {
    const call = (type: string, callId: string, at: number) =>
      event("main", type, { callId, name: "Bash", result: { outcome: "ok", content: [] } }, at);
    const spans = [
      call("tool.started", "a", 1),
      call("tool.started", "b", 2),
      call("tool.ended", "a", 3),
      call("tool.started", "c", 4),
    ].reduce(foldSpans, noSpans());
    expect(spans.lanes.get("main")?.spans.map(({ callId, row }) => [callId, row])).toEqual([
      ["a", 0],
      ["b", 1],
      ["c", 0],
    ]);
  });

  it("are failed only if something failed, and stopped with their run", () => {
    const spans = [
      event("main", "model.requested", { turn: 1 }, 1),
      event("main", "model.failed", { turn: 1, error: { message: "The request was stopped." }, partial: [] }, 2),
      event("main", "run.ended", { outcome: "stopped", reason: "stopped" }, 3),
      event("main", "tool.started", { callId: "x" }, 4),
      event("main", "tool.ended", { callId: "x", result: { outcome: "error", content: [] } }, 5),
    ].reduce(foldSpans, noSpans());
    expect(spans.lanes.get("main")?.spans.map(({ result }) => result)).toEqual(["stopped", "failed"]);
  });
});

describe("the tree", () => {
  it("groups many agents by state and type, and opens those that need the user", () => {
    const updates = Array.from({ length: 60 }, (_, index) => {
      const id = `a${String(index).padStart(12, "0")}`;
      return event(id, "run.started", { runId: "r", agentType: index % 2 ? "Explore" : "Plan", model: "m" });
    });
    const view = updates.reduce(foldSession, newSessionView());
    const grouping = { selected: "main", toggled: new Map(), isSearched: false };
    const rows = treeRows(inTreeOrder(view), grouping);
    expect(rows.flatMap((row) => (row.kind === "group" ? [[row.type, row.state, row.members.length]] : []))).toEqual([
      ["Plan", "working", 30],
      ["Explore", "working", 30],
    ]);
    const closed = treeRows(inTreeOrder(view), { ...grouping, toggled: new Map([["working\nPlan", false]]) });
    expect(closed).toHaveLength(rows.length - 30);
  });
});

describe("a diff", () => {
  it("has the numbers of its lines", () => {
    const diff = "--- a\n+++ b\n@@ -3,3 +3,3 @@\n same\n-old\n+new\n@@ -9 +9 @@\n-x\n";
    expect(linesOf(diff)).toEqual([
      { kind: "same", text: "same", before: 3, after: 3 },
      { kind: "removed", text: "old", before: 4 },
      { kind: "added", text: "new", after: 4 },
      { kind: "hunk", text: "⋯" },
      { kind: "removed", text: "x", before: 9 },
    ]);
  });

  it("shows lines that both texts have once", () => {
    expect(changedLines("a\nb\nc", "a\nx\nc").map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      "same a",
      "removed b",
      "added x",
      "same c",
    ]);
  });
});

it("leaves out what only repeats how a run ended", () => {
  const item = (kind: string, more: object = {}): Item => ({ kind, position: 0, at: 0, ...more }) as unknown as Item;
  const items = [item("error"), item("end", { reason: "parked" }), item("run"), item("error"), item("text")];
  expect(shownItems(items).map(({ kind }) => kind)).toEqual(["end", "error", "text"]);
});

it("does not wait for a value after the signal has fired", () => {
  let subscribed = 0;
  const store = createStore(1);
  const subscribe = (listener: () => void): (() => void) => {
    subscribed++;
    return store.subscribe(listener);
  };
  const counted = { ...store, subscribe };
  void until(counted, () => false, AbortSignal.abort());
  expect(subscribed).toBe(0);
});

describe("the place of a change", () => {
  const ended = (name: string, text: string, details: object): Line =>
    ({ type: "tool.ended", name, result: { outcome: "ok", content: [{ type: "text", text }], details } }) as never;
  const read = (text: string) => ended("Read", text, { path: "src/a.ts" });

  it("is known from what the agent has last read, if it is the only one", () => {
    const lines = [read("   7\tone\n   8\ttwo\n   9\tthree\n  10\ttwo")];
    expect(placeOf("one\ntwo", "/w/src/a.ts", lines)).toBe(7);
    expect(placeOf("wo\nth", "src/a.ts", lines)).toBe(8);
    expect(placeOf("three\n", "src/a.ts", lines)).toBe(9);
    expect(placeOf("two", "src/a.ts", lines)).toBeUndefined();
    expect(placeOf("one", "src/b.ts", lines)).toBeUndefined();
  });

  it("is not guessed after a change that may have moved it", () => {
    const diff = "--- a\n+++ b\n@@ -1,2 +1,3 @@\n zero\n+half\n one\n";
    const lines = [read("   2\tone\n   3\ttwo"), ended("Edit", "", { path: "src/a.ts", diff })];
    expect(placeOf("one", "src/a.ts", lines)).toBe(3);
    expect(placeOf("two", "src/a.ts", lines)).toBeUndefined();
  });
});
