import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answered, created, fromAgent, runEnded, started } from "../../client/view/agent-events.test-support.ts";
import { displayWidth } from "../fit-line.ts";
import { agentLines } from "./agent-lines.ts";
import { createAgentViews } from "./agent-views.ts";

const view = { columns: 100, rows: 20, now: 8_000, frame: "*" };

function agentViews(count: number, { ended = 0, text = "" } = {}) {
  const views = createAgentViews();
  for (let index = 0; index < count; index++) {
    const path = [`a${index}`];
    const events = [created(path, text || `part ${index}`), started(), answered(text, [])];
    for (const event of events) views.observe(fromAgent(path, event));
    if (index < ended) views.observe(fromAgent(path, runEnded({ outcome: "incomplete", reason: "max_turns" })));
  }
  return views.inOrder();
}

describe("agent lines", () => {
  it("show each agent's task, current activity and usage", () => {
    const views = createAgentViews();
    const call = [{ name: "Grep", input: { pattern: "router" } }];
    for (const event of [created(["a1"]), started(), answered("", call)]) views.observe(fromAgent(["a1"], event));
    views.observe(fromAgent(["a1"], { type: "tool.requested", callId: "c0", name: "Grep" }));
    for (const event of [created(["a1", "a2"], "deeper"), started(), answered("Well.\nAll is fine.")]) {
      views.observe(fromAgent(["a1", "a2"], event));
    }
    for (const event of [created(["a3"], "give up"), started({ background: true })])
      views.observe(fromAgent(["a3"], event));
    views.observe(fromAgent(["a3"], runEnded({ outcome: "incomplete", reason: "budget" })));
    expect(agentLines(views.inOrder(), view)).toEqual([
      "  * Explore find the router · searching for router · 1,034 tokens · 8s",
      "    * Explore deeper · All is fine. · 1,034 tokens · 8s",
      "  ! Explore give up (background) · cut by its budget, can be resumed · 1,034 tokens · 4s",
    ]);
  });

  it("show a call as the approver changed it", () => {
    const views = createAgentViews();
    const answer = { requestId: "ask_1", callId: "c0", answer: "allow", by: "ana" } as const;
    for (const event of [
      created(["a1"]),
      started(),
      answered("", [{ name: "Bash", input: { command: "rm -r x" } }]),
      { type: "tool.requested", callId: "c0", name: "Bash" } as const,
      { type: "approval.answered", ...answer, inputJson: '{"command":"rm x"}' } as const,
    ])
      views.observe(fromAgent(["a1"], event));
    expect(agentLines(views.inOrder(), view)[0]).toContain(" · running: rm x · ");
  });

  it("show the purpose of several calls in the agent's own words", () => {
    const views = createAgentViews();
    const calls = ["a.ts", "b.ts"].map((file_path) => ({ name: "Read", input: { file_path } }));
    for (const event of [created(["a1"]), started(), answered("Reading the key files of src", calls)])
      views.observe(fromAgent(["a1"], event));
    views.observe(fromAgent(["a1"], { type: "tool.requested", callId: "c0", name: "Read" }));
    expect(agentLines(views.inOrder(), view)).toEqual([
      "  * Explore find the router · Reading the key files of src · 1,034 tokens · 8s",
    ]);
  });

  it("leave out ended agents first if there is not enough room, and count them", () => {
    expect(agentLines(agentViews(10, { ended: 7 }), { ...view, rows: 5 })).toEqual([
      expect.stringContaining("part 0 · cut by its turn limit, can be resumed"),
      expect.stringContaining("part 7"),
      expect.stringContaining("part 8"),
      expect.stringContaining("part 9"),
      "  … 6 more: 6 incomplete",
    ]);
  });

  it("keep room for both the name and the outcome", () => {
    const [line = ""] = agentLines(agentViews(1, { ended: 1, text: "a description that is far too long" }), {
      ...view,
      columns: 60,
    });
    expect(line).toBe("  ! Explore a des… · cut by its turn li… · 1,034 tokens · 4s");
  });

  it("mark a background agent with a long name, if there is room", () => {
    const agents = agentViews(1, { text: "a description that is far too long" }).map((agent) => ({
      ...agent,
      background: true,
    }));
    const lineAt = (columns: number) => agentLines(agents, { ...view, columns })[0];
    expect(lineAt(80)).toBe("  * Explore a … (background) · a description that is far to… · 1,034 tokens · 8s");
    expect(lineAt(40)).toBe("  * Explore a des… · a description that…");
  });

  it("never exceed the rows or columns, and contain no control sequences", () => {
    const text = fc.string({ unit: fc.constantFrom("a", " ", "語", "🙂", "e\u0301", "\u001b[2J", "\n", "\r") });
    const sizes = fc.record({ columns: fc.integer({ min: 1, max: 120 }), rows: fc.integer({ min: -2, max: 12 }) });
    fc.assert(
      fc.property(fc.nat(15), fc.nat(15), text, sizes, (count, ended, description, size) => {
        const agents = agentViews(count, { ended, text: description });
        const lines = agentLines(agents, { ...view, ...size });
        expect(lines.length).toBeLessThanOrEqual(Math.max(0, size.rows));
        if (size.rows >= count) expect(lines).toHaveLength(count);
        expect(lines.filter((line) => displayWidth(line) > size.columns)).toEqual([]);
        for (const steering of ["\r", "\n", "\u001b"]) expect(lines.join("")).not.toContain(steering);
      }),
    );
  });
});
