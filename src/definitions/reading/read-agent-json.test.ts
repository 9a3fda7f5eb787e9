import { describe, expect, it } from "vitest";
import { readAgentJson } from "./read-agent-json.ts";

const origin = { file: "--agents", source: "flag" } as const;

describe("readAgentJson", () => {
  it("reads the same fields and a prompt", () => {
    const { agents, diagnostics } = readAgentJson(
      { reviewer: { description: "Reviews.", prompt: "You review.", tools: ["Read"], max_turns: 5 } },
      origin,
    );
    expect(diagnostics).toEqual([]);
    expect(agents).toHaveLength(1);
    expect(agents[0]?.definition).toEqual({
      name: "reviewer",
      description: "Reviews.",
      source: "flag",
      file: "--agents",
      tools: ["Read"],
      maxTurns: 5,
    });
    expect(agents[0]?.body()).toBe("You review.");
  });

  it("refuses one bad agent without the others, naming it", () => {
    const { agents, diagnostics } = readAgentJson(
      {
        a: { description: "d", prompt: "p" },
        b: { prompt: "p" },
        c: { description: "d", prompt: "p", tools: 5 },
        d: "x",
      },
      origin,
    );
    expect(agents.map(({ definition }) => definition?.name)).toEqual(["a", undefined, undefined]);
    expect(agents[1]?.diagnostics[0]).toMatchObject({
      code: "no_description",
      message: expect.stringContaining('Agent "b"'),
    });
    expect(agents[2]?.diagnostics[0]).toMatchObject({ code: "unreadable_tools" });
    expect(diagnostics).toMatchObject([{ severity: "error", code: "not_a_mapping" }]);
  });

  it.each([null, 5, "x", [], undefined])("says that %j is no mapping", (value) => {
    expect(readAgentJson(value, origin)).toMatchObject({ agents: [], diagnostics: [{ code: "not_a_mapping" }] });
  });
});
