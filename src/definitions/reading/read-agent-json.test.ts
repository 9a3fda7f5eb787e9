import { describe, expect, it } from "vitest";
import { readAgentJson } from "./read-agent-json.ts";

const origin = { file: "--agents", source: "flag" } as const;

describe("readAgentJson", () => {
  it("reads the fields that a file can have, and a prompt", () => {
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

  it("rejects only the invalid agent, and names it", () => {
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

  it("mentions a misspelled description", () => {
    const { agents } = readAgentJson({ a: { descripton: "d", prompt: "p" } }, origin);
    expect(agents[0]?.diagnostics).toContainEqual(
      expect.objectContaining({
        code: "no_description",
        message: expect.stringContaining('only a field "descripton"'),
        fix: 'Did you mean "description"?',
      }),
    );
  });

  it.each([
    [{ prompt: "p" }, 'Add "description": "what it does; use it when ...".'],
    [{ description: "d", tools: 5 }, 'Write names: "tools": ["Read","Grep","Bash(git diff *)"].'],
    [
      { description: "d", tools: "" },
      'Delete the key to inherit all tools, or write "tools": [] if it should have none.',
    ],
    [{ description: ["d"] }, "Write it as one string."],
    [{ description: "d", model: ["small"] }, 'Write "model": "small".'],
    [{ description: "d", maxTurns: "x" }, "Write a whole number above 0, or delete the key."],
    [{ description: "d", readonly: "x" }, 'Write "readonly": true, or delete the key.'],
    [{ description: "d", disable: "x" }, 'Write "disable": true, or delete the key.'],
    [{ description: "d", disable: true }, "Delete the key."],
    [{ description: "d", max_turns: 1, maxTurns: 2 }, "Keep one of the two keys."],
    [{ description: "d", permission: 5 }, 'Write {"bash": "ask", "edit": {"*.env": "deny"}} with allow, ask or deny.'],
    [
      { description: "d", hooks: { Foo: 1 } },
      'Write "hooks": {"PreToolUse": [{"matcher": "Bash", "command": "./check.sh"}]} (or PostToolUse, Stop).',
    ],
  ])("suggests a fix in JSON syntax for %j", (fields, fix) => {
    const { agents } = readAgentJson({ a: { prompt: "p", ...fields } }, origin);
    expect(agents[0]?.diagnostics.map(({ fix }) => fix)).toEqual([fix]);
    for (const { message } of agents[0]?.diagnostics ?? []) expect(message).not.toMatch(/\bline\b/);
  });

  it("names the key and the line of an agent in a settings file", () => {
    const origin = { file: "/s.json", source: "user", lines: { a: 3, b: 7 } } as const;
    const { agents } = readAgentJson({ a: { prompt: "p" }, b: { description: "d" } }, origin);
    expect(agents.flatMap(({ diagnostics }) => diagnostics)).toMatchObject([
      { file: "/s.json", line: 3, code: "no_description", agent: "a", message: expect.stringMatching(/^agents\.a: /) },
      { file: "/s.json", line: 7, code: "no_prompt", agent: "b", message: expect.stringMatching(/^agents\.b: /) },
    ]);
  });

  it.each([null, 5, "x", [], undefined])("says that %j is not a mapping", (value) => {
    expect(readAgentJson(value, origin)).toMatchObject({ agents: [], diagnostics: [{ code: "not_a_mapping" }] });
  });
});
