import { describe, expect, it } from "vitest";
import { foldSession, newSessionView, type SessionView, type ViewUpdate } from "../../client/index.ts";
import { answered, created, line, runEnded, started } from "../../client/view/agent-events.test-support.ts";
import { agentColors, type DurableEvent, type EventOf } from "../../protocol/index.ts";
import { createPaint, textOfRow } from "../screen/row.ts";
import { widthOfRow } from "../screen/text.ts";
import { allAgents, panelRows } from "./agents-panel.ts";

const at = 1_000_000;

/** Returns a session with the given number of agents. Every tenth agent is still working. */
function sessionWith(count: number): SessionView {
  const ids = Array.from({ length: count }, (_, index) => `a${String(index).padStart(12, "0")}`);
  const events = ids.flatMap((agentId, index): readonly (readonly [string, DurableEvent])[] => [
    [agentId, created([agentId], `part ${index}`)],
    [agentId, started()],
    ...(index % 10 === 0
      ? []
      : ([
          [agentId, answered("Found it.")],
          [agentId, runEnded()],
        ] as const)),
  ]);
  const updates = [["main", started()] as const, ...events].map(
    ([agentId, event], index): ViewUpdate => ({ agentId, seq: index + 1, event: line(event, at) }),
  );
  return updates.reduce(foldSession, newSessionView());
}

const texts = (
  view: SessionView,
  options: { rows: number; selected?: string; columns?: number },
): readonly string[] => {
  const { columns = 79 } = options;
  const listed = options.selected === undefined ? undefined : allAgents(view);
  const rows = panelRows(view, { columns, now: at + 65_000, listed, ...options });
  expect(rows.every((row) => widthOfRow(row) <= columns)).toBe(true);
  return rows.map(textOfRow);
};

describe("the tree of agents", () => {
  it("lists the working agents, with time, tokens and totals", () => {
    const [head, ...agents] = texts(sessionWith(3), { rows: 10 });
    expect(head).toMatch(/^ {2}3 agents {2}1 working · 2 succeeded .*2\.1k tokens · \$1\.00$/);
    expect(agents).toEqual([expect.stringMatching(/^ {2}● Explore part 0: starting +1:05 +0$/)]);
  });

  it("always says which agents work in the background, unless it is narrow", () => {
    const id = "a000000000001";
    const view = [created([id], "look at all places that call the router"), started({ background: true })]
      .map((event, index): ViewUpdate => ({ agentId: id, seq: index + 1, event: line(event, at) }))
      .reduce(foldSession, newSessionView());
    expect(texts(view, { rows: 3 })[1]).toMatch(/that call the router: … {2}background +1:05/);
    expect(texts(view, { rows: 3, columns: 64 })[1]).toMatch(/look at all places tha.*… {2}background +1:05/);
    expect(texts(view, { rows: 3, columns: 40 })[1]).toMatch(/look at all pl.*… +1:05$/);
  });

  it("shows agents' names in the colors of their definitions, unless colors are off", () => {
    const id = "a000000000001";
    const rowOf = (color: EventOf<"run.started">["color"], selected?: string) => {
      const view = [created([id]), started({ color })]
        .map((event, index): ViewUpdate => ({ agentId: id, seq: index + 1, event: line(event, at) }))
        .reduce(foldSession, newSessionView());
      const listed = allAgents(view);
      return panelRows(view, { columns: 79, rows: 3, now: at, listed, selected })[1] ?? [];
    };
    const [paint, plain] = [createPaint({ hasColor: true }), createPaint({ hasColor: false })];
    /** Returns the parameters of the escape sequence before the name. */
    const lookOf = (color: EventOf<"run.started">["color"], selected?: string): string | undefined =>
      paint(rowOf(color, selected))
        .split("\u001b[")
        .find((part) => part.includes("m Explore "))
        ?.split("m")[0];
    const painted = new Set(agentColors.map((color) => lookOf(color)));
    expect([...painted]).toEqual(agentColors.map(() => expect.stringMatching(/^[39][1-6]$/)));
    expect(lookOf("orange", id)).toBe("1;91");
    expect(lookOf(undefined)).toBe("0");
    expect(lookOf("constructor" as "red")).toBe("0");
    expect(plain(rowOf("orange"))).toContain(plain(rowOf(undefined)));
  });

  it("is readable with 300 agents: it counts them, and shows those around the selected one", () => {
    const view = sessionWith(300);
    const calm = texts(view, { rows: 6 });
    expect(calm).toHaveLength(6);
    expect(calm[0]).toContain("300 agents  30 working · 270 succeeded · 25 more");
    const around = texts(view, { rows: 7, selected: "a000000000150" });
    expect(around.slice(1).map((row) => /part (\d+)/.exec(row)?.[1])).toEqual([
      "147",
      "148",
      "149",
      "150",
      "151",
      "152",
    ]);
    expect(around.find((row) => row.includes("part 150"))).toMatch(/^› ● Explore/);
    expect(around.find((row) => row.includes("part 151"))).toMatch(/✓ Explore part 151: succeeded: done/);
  });

  it("keeps its columns if only some agents have a cost, and shows task and activity in a narrow terminal", () => {
    const view = sessionWith(3);
    const ends = texts(view, { rows: 10, selected: "a000000000000" }).slice(1);
    expect(ends[0]).toMatch(/1:05 {5}0 {7}$/);
    const narrow = texts(view, { rows: 10, columns: 39 });
    expect(narrow[1]).toMatch(/● Explore part 0: starting +1:05$/);
  });

  it("stays within the width of any terminal", () => {
    for (const columns of [20, 40, 200]) texts(sessionWith(12), { rows: 8, columns });
  });
});
