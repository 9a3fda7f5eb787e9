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
