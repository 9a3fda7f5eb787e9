import { describe, expect, it } from "vitest";
import {
  agentOf,
  type CallItem,
  foldSession,
  foldSpans,
  type Item,
  inTreeOrder,
  newSessionView,
  noSpans,
  spansClosed,
  type ViewUpdate,
} from "../../src/client/index.ts";
import { answered, created, runEnded, started } from "../../src/client/view/agent-events.test-support.ts";
import type { Line, RunEnd } from "../../src/protocol/index.ts";
import { nameFault } from "../../src/web/agents/name-fault.ts";
import { placeOf } from "../../src/web/approvals/change-place.ts";
import { changedLines, linesOf } from "../../src/web/parts/diff-lines.ts";
import { contextColors } from "../../src/web/session/agent/context-colors.ts";
import { agentSign, markOf } from "../../src/web/session/conversation/call-mark.ts";
import { partEnd } from "../../src/web/session/conversation/part-end.ts";
import { shownItems } from "../../src/web/session/conversation/shown-items.ts";
import { spanWords, zoomed } from "../../src/web/session/timeline/lanes.ts";
import { type TreeRow, treeRows } from "../../src/web/session/tree/tree-rows.ts";
import { createStore, until } from "../../src/web/state/store.ts";

const event = (agentId: string, type: string, fields: object, at = 0): ViewUpdate =>
  ({ agentId, event: { v: 1, id: "1", parentId: null, at, type, ...fields } }) as unknown as ViewUpdate;

describe("spans in the timeline", () => {
  it("have a row for each call that runs at the same time as others", () => {
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

  it("are marked as failed only if something failed, and as stopped if their run was stopped", () => {
    const spans = [
      event("main", "model.requested", { turn: 1 }, 1),
      event("main", "model.failed", { turn: 1, error: { message: "The request was stopped." }, partial: [] }, 2),
      event("main", "run.ended", { outcome: "stopped", reason: "stopped" }, 3),
      event("main", "tool.started", { callId: "x" }, 4),
      event("main", "tool.ended", { callId: "x", result: { outcome: "error", content: [] } }, 5),
    ].reduce(foldSpans, noSpans());
    expect(spans.lanes.get("main")?.spans.map(({ result }) => result)).toEqual(["stopped", "failed"]);
  });

  it("end when their process was lost, even if that is recorded much later, for each agent in turn", () => {
    const unknown = { result: { outcome: "unknown", content: [] } };
    const lost = { outcome: "failed", reason: "process_lost" };
    const spans = [
      event("main", "model.requested", { turn: 1 }, 1),
      event("a1", "tool.started", { callId: "x" }, 2),
      event("a2", "model.requested", { turn: 1 }, 3),
      // The next process records what the lost one left.
      event("main", "spend.recorded", { estimated: true, usage: {} }, 900),
      event("main", "run.ended", lost, 900),
      event("main", "run.started", { runId: "r2" }, 905),
      event("a1", "tool.ended", { callId: "x", ...unknown }, 910),
      event("a1", "run.ended", lost, 910),
      event("a2", "run.ended", lost, 920),
      event("a2", "model.requested", { turn: 2 }, 930),
      event("main", "model.requested", { turn: 2 }, 940),
      event("a2", "run.ended", lost, 2_000),
    ].reduce(foldSpans, noSpans());
    const ends = ["main", "a1", "a2"].map((id) => spans.lanes.get(id)?.spans.map(({ end, result }) => [end, result]));
    expect(ends).toEqual([
      [
        [3, "lost"],
        [undefined, undefined],
      ],
      [[3, "lost"]],
      [
        [3, "lost"],
        [940, "lost"],
      ],
    ]);
    expect(spans.losses).toEqual([3, 940]);
    const closed = spansClosed(spans);
    expect(closed.lanes.get("main")?.spans.at(-1)).toMatchObject({ end: 940, result: "lost" });
    expect(closed.losses).toEqual([3, 940]);
  });
});

describe("the tree", () => {
  it("groups many agents by state and type, and keeps each group open or closed as it was", () => {
    const updates = Array.from({ length: 60 }, (_, index) => {
      const id = `a${String(index).padStart(12, "0")}`;
      return event(id, "run.started", { runId: "r", agentType: index % 2 ? "Explore" : "Plan", model: "m" });
    });
    const view = updates.reduce(foldSession, newSessionView());
    const grouping = {
      selected: "main",
      toggled: new Map(),
      shown: new Map(),
      isSearched: false,
      agentOf: () => undefined,
    };
    const rows = treeRows(inTreeOrder(view), grouping);
    expect(rows.flatMap((row) => (row.kind === "group" ? [[row.type, row.state, row.members.length]] : []))).toEqual([
      ["Plan", "working", 30],
      ["Explore", "working", 30],
    ]);
    const closed = treeRows(inTreeOrder(view), { ...grouping, toggled: new Map([["working\nPlan", false]]) });
    expect(closed).toHaveLength(rows.length - 30);
    const shown = new Map([["working\nPlan", false]]);
    expect(treeRows(inTreeOrder(view), { ...grouping, shown })).toHaveLength(rows.length - 30);
  });

  it("shows agents below their parents, or names a parent that is not above its agent", () => {
    const path = (...ids: readonly number[]) => ids.map((id) => `a${String(id).padStart(12, "0")}`);
    const paths = [path(0), path(0, 1), path(0, 1, 2), ...Array.from({ length: 60 }, (_, index) => path(index + 3))];
    const updates = paths.flatMap((each, index) => {
      const [id = "", type] = [each.at(-1), index === 1 ? "Plan" : "Explore"];
      return [
        event(id, "agent.created", { ...created(each, `task ${index}`), agentType: type }),
        event(id, "run.started", { ...started(), agentType: type }),
        ...(index > 2 ? [event(id, "run.ended", runEnded())] : []),
      ];
    });
    const view = updates.reduce(foldSession, newSessionView());
    const grouping = {
      selected: "main",
      toggled: new Map(),
      shown: new Map(),
      agentOf: (id: string) => agentOf(view, id),
    };
    const shown = (rows: readonly TreeRow[]) =>
      rows.flatMap((row) =>
        row.kind === "agent" ? [[row.agent.description, row.level, row.parent?.description]] : [],
      );
    const grouped = treeRows(inTreeOrder(view), { ...grouping, isSearched: false });
    expect(shown(grouped)).toEqual([
      ["task 0", 1, undefined],
      ["task 2", 2, "task 1"],
      ["task 1", 1, "task 0"],
    ]);
    const found = inTreeOrder(view).filter(({ description }) => ["task 1", "task 2"].includes(description));
    expect(shown(treeRows(found, { ...grouping, isSearched: true }))).toEqual([
      ["task 1", 0, "task 0"],
      ["task 2", 1, undefined],
    ]);
    const ended = treeRows(inTreeOrder(view), { ...grouping, isSearched: true });
    expect(ended.find((row) => row.kind === "agent" && row.agent.description === "task 9")).toMatchObject({
      form: "line",
    });
  });
});

it.each([
  ["doc-writer", undefined],
  ["a_1", undefined],
  ["", "Enter a name."],
  ["my agent", "A name can't contain spaces."],
  ["é", `A name can't contain "é".`],
  ["-rf", "A name must begin with a letter or a digit."],
  ["x".repeat(65), "The name has 65 characters."],
])("the problem with the name %j is %j", (name, fault) => {
  if (fault === undefined) expect(nameFault(name)).toBeUndefined();
  else expect(nameFault(name)).toContain(fault);
});

describe("the timeline", () => {
  it("zooms around a time, which stays where it is", () => {
    expect(zoomed({ from: 0, to: 100 }, 0.5, 20)).toEqual({ from: 10, to: 60 });
    expect(zoomed({ from: 0, to: 100 }, 2, 20)).toEqual({ from: -20, to: 180 });
    expect(zoomed({ from: 0, to: 100 }, 0.5)).toEqual({ from: 25, to: 75 });
    expect(zoomed({ from: 50, to: 100 }, 0.5, 10)).toEqual({ from: 50, to: 75 });
  });

  it("says what a call is about, with paths relative to the session's directory", () => {
    const calls = [
      { name: "Read", input: { file_path: "/work/shop/src/a.ts" } },
      { name: "Task", input: { description: "find rounding", prompt: "x", subagent_type: "Explore" } },
      { name: "Bash", input: { command: "x".repeat(500) } },
    ];
    const spans = [
      event("main", "model.requested", { turn: 1 }, 1),
      event("main", "model.ended", answered("", calls), 2),
      ...["c0", "c1", "c2"].map((callId) => event("main", "tool.started", { callId }, 3)),
    ].reduce(foldSpans, noSpans());
    const shown = spans.lanes.get("main")?.spans.map((span) => spanWords(span, { zero: 0, end: 9, cwd: "/work/shop" }));
    expect(shown?.map(([what]) => what)).toEqual([
      "turn 1",
      "Read src/a.ts",
      "Task find rounding",
      `Bash ${"x".repeat(119)}…`,
    ]);
  });
});

it("splits long text at the ends of lines", () => {
  expect([partEnd("ab\ncd\nef", 0, 4), partEnd("ab\ncd\nef", 3, 4)]).toEqual([3, 6]);
  expect([partEnd("abcdefgh", 0, 5), partEnd("abcdefgh", 5, 5)]).toEqual([5, 8]);
});

it("gives each part of a context window its own color", () => {
  const names = ["tools", "results of Read", "results of Grep", "system prompt", "prompts", "responses", "tool calls"];
  const colors = contextColors(names);
  expect(new Set(colors).size).toBe(names.length);
  expect(contextColors(["system prompt", "tools"])).toEqual([colors[3], colors[0]]);
});

describe("a diff", () => {
  it("has line numbers", () => {
    const diff = "--- a\n+++ b\n@@ -3,3 +3,3 @@\n same\n-old\n+new\n@@ -9 +9 @@\n-x\n";
    expect(linesOf(diff)).toEqual([
      { kind: "same", text: "same", before: 3, after: 3 },
      { kind: "removed", text: "old", before: 4 },
      { kind: "added", text: "new", after: 4 },
      { kind: "hunk", text: "⋯" },
      { kind: "removed", text: "x", before: 9 },
    ]);
  });

  it("has no empty line after the line break at the end of a file", () => {
    const texts = (before: string, after: string) => changedLines(before, after).map(({ kind, text }) => [kind, text]);
    expect(texts("", "one\ntwo\n")).toEqual([
      ["added", "one"],
      ["added", "two"],
    ]);
    expect(texts("one\n", "two\n")).toEqual([
      ["removed", "one"],
      ["added", "two"],
    ]);
    // A line break that is added must be visible.
    expect(texts("one", "one\n")).toEqual([
      ["same", "one"],
      ["added", ""],
    ]);
  });

  it("shows lines that both versions contain only once", () => {
    expect(changedLines("a\nb\nc", "a\nx\nc").map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      "same a",
      "removed b",
      "added x",
      "same c",
    ]);
  });
});

it("omits messages that only repeat how a run ended", () => {
  const item = (kind: string, more: object = {}): Item => ({ kind, position: 0, at: 0, ...more }) as unknown as Item;
  const items = [item("error"), item("end", { reason: "parked" }), item("run"), item("error"), item("text")];
  expect(shownItems(items).map(({ kind }) => kind)).toEqual(["end", "error", "text"]);
  const text = "anthropic can't be reached.";
  const failed = item("end", { reason: "model_error", outcome: "failed", message: text });
  expect(shownItems([item("error", { text }), failed])).toEqual([failed]);
  const other = item("error", { text: "Another failure." });
  expect(shownItems([other, failed])).toEqual([other, failed]);
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

describe("the position of a change", () => {
  const ended = (name: string, text: string, details: object): Line =>
    ({ type: "tool.ended", name, result: { outcome: "ok", content: [{ type: "text", text }], details } }) as never;
  const read = (text: string) => ended("Read", text, { path: "src/a.ts" });

  it("is found in the text that the agent read last, if the changed text occurs there only once", () => {
    const lines = [read("   7\tone\n   8\ttwo\n   9\tthree\n  10\ttwo")];
    expect(placeOf("one\ntwo", "/w/src/a.ts", lines)).toBe(7);
    expect(placeOf("wo\nth", "src/a.ts", lines)).toBe(8);
    expect(placeOf("three\n", "src/a.ts", lines)).toBe(9);
    expect(placeOf("two", "src/a.ts", lines)).toBeUndefined();
    expect(placeOf("one", "src/b.ts", lines)).toBeUndefined();
  });

  it("is not guessed after an earlier change that may have moved it", () => {
    const diff = "--- a\n+++ b\n@@ -1,2 +1,3 @@\n zero\n+half\n one\n";
    const lines = [read("   2\tone\n   3\ttwo"), ended("Edit", "", { path: "src/a.ts", diff })];
    expect(placeOf("one", "src/a.ts", lines)).toBe(3);
    expect(placeOf("two", "src/a.ts", lines)).toBeUndefined();
  });
});

describe("the sign of a task", () => {
  const result = (outcome: string, details: object) => ({ outcome, details, content: [], milliseconds: 1 });
  const call = (ended: object) => ({ kind: "call", callId: "c0", name: "Task", result: ended }) as unknown as CallItem;

  it("says that its agent was stopped, not that it failed", () => {
    expect(markOf(call(result("error", { outcome: "stopped" })), undefined).sign).toBe("–");
    expect(markOf(call(result("error", { outcome: "failed" })), undefined).sign).toBe("✗");
  });

  it("follows an agent in the background until a different call continues it", () => {
    const launched = call(result("ok", { status: "async_launched" }));
    const updates = [
      event("a1", "agent.created", { ...created(["a1"]), parent: { agentId: "main", callId: "c0" } }),
      event("a1", "run.started", started({ background: true })),
    ];
    const signAfter = (more: readonly ViewUpdate[], of = launched) =>
      agentSign(agentOf([...updates, ...more].reduce(foldSession, newSessionView()), "a1")!, of);
    const ended = (outcome: RunEnd["outcome"]) => [event("a1", "run.ended", runEnded({ outcome }))];
    expect(signAfter([])).toBe("•");
    expect(signAfter(ended("succeeded"))).toBe("✓");
    expect(signAfter(ended("stopped"))).toBe("–");
    expect(signAfter(ended("failed"))).toBe("✗");
    expect(signAfter([], { ...launched, callId: "c1" })).toBeUndefined();
  });
});
