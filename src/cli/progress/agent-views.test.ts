import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DurableEvent, SubagentEvent } from "../../protocol/index.ts";
import { answered, created, fromAgent, line, runEnded, started } from "./agent-events.test-support.ts";
import { tokensOf } from "./agent-view.ts";
import { createAgentViews } from "./agent-views.ts";

function viewsOf(updates: readonly Parameters<ReturnType<typeof createAgentViews>["observe"]>[0][]) {
  const views = createAgentViews();
  for (const update of updates) views.observe(update, 0);
  return views;
}

const live: readonly (DurableEvent | SubagentEvent["event"])[] = [
  { type: "model.requested", turn: 1 },
  { type: "text.delta", turn: 1, text: "words\n" },
  { type: "thinking.delta", turn: 1, text: "hm" },
  { type: "call.delta", turn: 1, index: 0, name: "Read", json: "{" },
  answered("I look.", [{ name: "Read", input: { file_path: "a" } }]),
  { type: "tool.requested", callId: "c0", name: "Read" },
  { type: "tool.ended", callId: "c0", name: "Read", result: { outcome: "ok", content: [] }, milliseconds: 1 },
];

describe("agent views", () => {
  it("show what an agent works on, for which call, and its usage", () => {
    const path = ["a1"];
    const views = viewsOf([
      fromAgent(path, created(path)),
      fromAgent(path, started({ background: true })),
      fromAgent(path, { type: "model.requested", turn: 1 }),
      fromAgent(path, answered("I look.", [{ name: "Read", input: { file_path: "src/a.ts" } }])),
      fromAgent(path, { type: "tool.requested", callId: "c0", name: "Read" }),
    ]);
    const view = views.get("a1");
    expect(view).toMatchObject({ description: "find the router", callId: "call_a1", background: true, turns: 1 });
    expect([...(view?.running.values() ?? [])]).toEqual(["Read src/a.ts"]);
    expect(tokensOf(view?.usage ?? runUsage)).toBe(1_034);
  });

  it("trust the totals at the end of a run, even if events were missed, and add up runs", () => {
    const event = fc.constantFrom(...live);
    fc.assert(
      fc.property(fc.array(fc.array(event, { maxLength: 8 }), { minLength: 1, maxLength: 4 }), (runs) => {
        const updates = runs
          .flatMap((events) => [started(), ...events, runEnded()])
          .map((each) => fromAgent(["a1"], each));
        const view = viewsOf(updates).get("a1");
        expect(view).toMatchObject({ turns: runs.length, toolCalls: 0, costUsd: runs.length * 0.5 });
        expect(tokensOf(view?.usage ?? runUsage)).toBe(runs.length * 1_034);
        expect(view?.running.size).toBe(0);
        expect(view?.end?.outcome).toBe("succeeded");
      }),
    );
  });

  it("never change after they were returned", () => {
    const event = fc.constantFrom(...live, started(), runEnded());
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), event, (events, last) => {
        const views = viewsOf(events.map((each) => fromAgent(["a1"], each)));
        const before = views.get("a1");
        const copy = structuredClone(before);
        views.observe(fromAgent(["a1"], last), 1);
        expect(before).toEqual(copy);
      }),
    );
  });

  it("form a tree with each agent below its parent, whatever the order of events", () => {
    const tree = fc.array(fc.nat(), { minLength: 1, maxLength: 15 }).map((choices) => {
      const paths: (readonly string[])[] = [];
      for (const [index, choice] of choices.entries()) {
        const parent = choice % (paths.length + 1);
        paths.push([...(paths[parent - 1] ?? []), `a${index}`]);
      }
      return paths;
    });
    const shuffled = tree.chain((paths) => fc.shuffledSubarray(paths, { minLength: 1 }));
    fc.assert(
      fc.property(shuffled, (paths) => {
        const order = viewsOf(paths.map((path) => fromAgent(path, started()))).inOrder();
        expect(new Set(order.map(({ agentId }) => agentId))).toEqual(new Set(paths.map((path) => path.at(-1))));
        expect(order).toHaveLength(paths.length);
        const seen = new Set<string>();
        const known = new Set(paths.map((path) => path.at(-1)));
        for (const { agentId, path } of order) {
          const parent = path.at(-2);
          if (parent !== undefined && known.has(parent)) expect(seen).toContain(parent);
          seen.add(agentId);
        }
      }),
    );
  });

  it("find the call that resumes an agent from an earlier run", () => {
    const resume = line(
      answered("", [{ name: "Task", input: { description: "and more", prompt: "x", resume: "a1" } }]),
    );
    const views = viewsOf([resume, fromAgent(["a1"], { ...started(), kind: "resume" } as DurableEvent)]);
    expect(views.get("a1")).toMatchObject({ callId: "c0", description: "and more" });
  });
});

const runUsage = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
