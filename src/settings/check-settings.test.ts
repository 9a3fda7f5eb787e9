import { describe, expect, it } from "vitest";
import { checkSettings } from "./check-settings.ts";

describe("settings for subagents", () => {
  it("can block tools for agents that are not built in, and allow questions", () => {
    const subagents = { blockedTools: ["WebFetch", "mcp__db", "*"], allowQuestions: "foreground" };
    expect(checkSettings({ subagents })).toEqual({ problems: [], wrong: [], unknown: [] });
    expect(checkSettings({ subagents: { blockedTools: [], allowQuestions: "never" } }).problems).toEqual([]);
  });

  it.each([
    [{ blockedTools: "WebFetch" }, "subagents.blockedTools must be an array"],
    [{ blockedTools: ["Bash(rm:*)"] }, "subagents.blockedTools[0]"],
    [{ blockedTools: [""] }, "subagents.blockedTools[0]"],
    [{ allowQuestions: "background" }, 'subagents.allowQuestions must be "never" or'],
    [{ allowQuestions: true }, "subagents.allowQuestions"],
  ])("are reported with their key if invalid: %j", (subagents, message) => {
    const { problems } = checkSettings({ subagents });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
  });
});

it("the verify setting can be off, suggest or auto", () => {
  for (const verify of ["off", "suggest", "auto"]) expect(checkSettings({ verify }).problems).toEqual([]);
  expect(checkSettings({ verify: true }).problems).toEqual([expect.stringContaining("verify must be")]);
});

describe("prices of long prompts", () => {
  const cheap = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 };
  const check = (longPrompts: unknown) =>
    checkSettings({ providers: { p: { prices: { m: { ...cheap, longPrompts } } } } });

  it("are optional, and consist of a length and the same prices", () => {
    const dear = { above: 100_000, input: 5, output: 10, cacheRead: 0.5, cacheWrite: 6.25, cacheWrite1h: 10 };
    for (const longPrompts of [[], [dear], [dear, { ...dear, above: 272_000 }]]) {
      expect(check(longPrompts)).toEqual({ problems: [], wrong: [], unknown: [] });
    }
  });

  it.each([
    [{ above: 1, ...cheap }, "providers.p.prices.m.longPrompts must be an array"],
    [[cheap], "above"],
    [[{ ...cheap, above: 0 }], "above"],
    [[{ above: 1, input: 1 }], "output"],
    [[{ above: 1, ...cheap, cached: 1 }], "cached"],
  ])("are reported with their key if invalid: %j", (longPrompts, message) => {
    const [problem = ""] = check(longPrompts).problems;
    expect(problem).toContain("providers.p.prices.m.longPrompts");
    expect(problem).toContain(message);
  });
});

it("unknown keys of providers, their models and their prices are reported", () => {
  const prices = { mini: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1, cached: 1 } };
  const local = {
    baseURL: "http://gateway",
    apiKeyenv: "KEY",
    models: { big: "m" },
    prices,
    headers: { "x-team": "a" },
  };
  expect(checkSettings({ providers: { local }, env: { ANY: "1" } })).toEqual({
    problems: [],
    wrong: [],
    unknown: [
      { path: ["providers", "local", "baseURL"], meant: "providers.local.baseUrl" },
      { path: ["providers", "local", "apiKeyenv"], meant: "providers.local.apiKeyEnv" },
      { path: ["providers", "local", "models", "big"], meant: undefined },
      { path: ["providers", "local", "prices", "mini", "cached"], meant: undefined },
    ],
  });
});
