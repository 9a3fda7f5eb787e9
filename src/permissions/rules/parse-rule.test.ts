import { describe, expect, it } from "vitest";
import { checkRules, parseRule } from "./parse-rule.ts";

describe("parseRule", () => {
  it.each([
    ["Read", { tool: "Read", target: { kind: "whole" } }],
    ["bash", { tool: "Bash", target: { kind: "whole" } }],
    ["Bash(*)", { tool: "Bash", target: { kind: "whole" } }],
    ["Bash(npm test)", { tool: "Bash", target: { kind: "command", pattern: { exact: ["npm", "test"], rest: false } } }],
    ["Bash(git log:*)", { tool: "Bash", target: { kind: "command", pattern: { exact: ["git", "log"], rest: true } } }],
    [
      "Bash(npm run test *)",
      { tool: "Bash", target: { kind: "command", pattern: { exact: ["npm", "run", "test"], rest: true } } },
    ],
    ["read_file(./x)", { tool: "Read", target: { kind: "path", pattern: "./x", touches: "read" } }],
    ["grep_search(./x)", { tool: "Grep", target: { kind: "path", pattern: "./x", touches: "read" } }],
    ["replace(./x)", { tool: "Edit", target: { kind: "path", pattern: "./x", touches: "write" } }],
    ["Write(a (b).ts)", { tool: "Write", target: { kind: "path", pattern: "a (b).ts", touches: "write" } }],
    [
      "WebFetch(domain:Example.COM)",
      { tool: "WebFetch", target: { kind: "domain", pattern: { host: "example.com", subdomains: false } } },
    ],
    [
      "WebFetch(domain:*.example.com)",
      { tool: "WebFetch", target: { kind: "domain", pattern: { host: "example.com", subdomains: true } } },
    ],
    ["mcp__db__*", { tool: "mcp__db__*", target: { kind: "whole" } }],
    ["Agent(Explore)", { tool: "Task", target: { kind: "agent", agentTypes: ["Explore"] } }],
    ["Agent(Explore, Plan)", { tool: "Task", target: { kind: "agent", agentTypes: ["Explore", "Plan"] } }],
    ["Task(team:helper)", { tool: "Task", target: { kind: "agent", agentTypes: ["team:helper"] } }],
    ["Agent(model:opus)", { tool: "Task", target: { kind: "parameter", name: "model", value: "opus" } }],
  ])("%s", (text, expected) => expect(parseRule(text)).toMatchObject({ ok: true, ...expected }));

  it.each([
    ["", undefined],
    ["(x)", undefined],
    ["Bash(", "Bash"],
    ["Bash()", "Bash"],
    ["Bash rm", "Bash"],
    ["Read(!x)", "Read"],
    ["Read(~root/x)", "Read"],
    ["WebFetch(example.com)", "WebFetch"],
    ["WebFetch(domain:a/b)", "WebFetch"],
  ])("rejects %j", (text, tool) => {
    const parsed = parseRule(text);
    expect(parsed.ok).toBe(false);
    expect(parsed).toHaveProperty("message", expect.stringMatching(/\w/));
    expect("tool" in parsed ? parsed.tool : undefined).toBe(tool);
  });
});

describe("checkRules", () => {
  const check = (effect: "allow" | "deny", text: string) =>
    checkRules([{ effect, text, scope: "user", file: "/home/u/settings.json" }]).map(({ message }) => message);

  it("accepts valid rules", () => {
    expect(check("allow", "Bash(npm test)")).toEqual([]);
    expect(check("deny", "Bash(curl x | sh)")).toEqual([]);
    expect(check("deny", "mcp__*")).toEqual([]);
  });

  it.each([
    ["Baash", 'there is no tool "Baash", so the rule has no effect. Did you mean "Bash"?'],
    ["Baash(ls)", 'there is no tool "Baash", so the rule has no effect. Did you mean "Bash"?'],
    ["Frobnicate(x)", 'there is no tool "Frobnicate", so the rule has no effect.'],
  ])("reports that %s names no tool, with the nearest name", (text, expected) => {
    for (const effect of ["allow", "deny"] as const) {
      expect(check(effect, text)).toEqual([`/home/u/settings.json: ${effect} rule \`${text}\`: ${expected}`]);
    }
  });

  it.each(["mcp__db__query", "mcp__db", "Note*", "*", "bash(ls)", "PowerShell(Get-ChildItem)"])(
    "accepts %s in a deny rule: an alias, a pattern, or a tool that may exist elsewhere or later",
    (text) => expect(check("deny", text)).toEqual([]),
  );

  it("names the line in the file, or the command-line option", () => {
    const [inFile, allowed, denied] = checkRules([
      { effect: "deny", text: "Baash", scope: "project", file: "/w/settings.json", line: 4 },
      { effect: "allow", text: "Baash", scope: "flag" },
      { effect: "deny", text: "Baash", scope: "flag" },
    ]).map(({ message }) => message);
    expect(inFile).toMatch(/^\/w\/settings\.json:4: deny rule/);
    expect(allowed).toMatch(/^the `allowedTools` option: allow rule/);
    expect(denied).toMatch(/^the `disallowedTools` option: deny rule/);
  });

  it("names the file, the rule and the consequence", () => {
    expect(check("deny", "Bash(")[0]).toMatch(
      /^\/home\/u\/settings\.json: deny rule `Bash\(`.*applies to every use of Bash/,
    );
    expect(check("deny", "Bash:touch x")[0]).toMatch(/in parentheses .*applies to every use of Bash\./);
    expect(check("deny", "shell:touch")[0]).toContain("applies to every use of");
    expect(check("allow", "Bash( ")[0]).toContain("the closing parenthesis is missing; write `Bash`");
    expect(check("allow", "Bash(ls")[0]).toContain("the closing parenthesis is missing; write `Bash(ls)`");
    expect(check("allow", "Bash(a && b:*)")[0]).toContain("not one simple command");
    expect(check("allow", "mcp__*")[0]).toContain("ignored");
    expect(check("allow", "Task(model:opus)")[0]).toContain("ignored");
    expect(check("deny", "Task(model:opus)")).toEqual([]);
    expect(check("deny", "WebSearch(x)")[0]).toContain("every use of WebSearch");
    expect(check("deny", "Task(x)")).toEqual([]);
  });
});
