import { describe, expect, it } from "vitest";
import type { HookEvent } from "../protocol/index.ts";
import type { Hook } from "./hook.ts";
import { matcherNotices, planHooks } from "./plan-hooks.ts";

const hook = (matcher?: string, event: HookEvent = "PreToolUse"): Hook => ({
  kind: "command",
  source: "user",
  event,
  command: "true",
  ...(matcher === undefined ? {} : { matcher }),
});

const holds = (matcher: string | undefined, subject: string | undefined, event: HookEvent = "PreToolUse"): boolean =>
  planHooks([hook(matcher, event)], event, subject).hooks.length === 1;

describe("a matcher", () => {
  it.each([undefined, "", "*", " "])("%j matches every tool", (matcher) => {
    expect(holds(matcher, "Bash")).toBe(true);
  });

  it.each([
    ["Edit", "Edit", true],
    ["Edit", "NotebookEdit", false],
    ["edit", "Edit", true],
    ["read_file", "Read", true],
    ["MultiEdit", "Edit", true],
    ["Agent", "Task", true],
    ["Edit|Write", "Write", true],
    ["Edit | Write", "Edit", true],
    ["Edit,Write", "Write", true],
    ["Edit|Write", "NotebookEdit", false],
    ["Notebook.*", "NotebookEdit", true],
    [".*Edit", "NotebookEdit", true],
    ["Edi.", "NotebookEdit", false],
    ["mcp__db__.*", "mcp__db__query", true],
    ["mcp__db__.*", "mcp__other__query", false],
    ["^(?!Read$).*", "Bash", true],
    ["^(?!Read$).*", "Read", false],
    ["Bash(git:*)", "Bash", true],
    ["Bash(git:*)", "Read", false],
    ["(Edit|Write)", "Write", true],
  ])("%s matches %s: %s", (matcher, tool, expected) => {
    expect(holds(matcher, tool)).toBe(expected);
  });

  it("for agents resolves aliases and ignores case", () => {
    expect(holds("explore", "Explore", "SubagentStart")).toBe(true);
    expect(holds("db-agent", "db-agent", "SubagentStop")).toBe(true);
    expect(holds("db-agent", "db-agent-2", "SubagentStop")).toBe(false);
    expect(holds("read", "Read", "SubagentStop")).toBe(true);
  });

  it("has no effect for an event without a subject", () => {
    expect(holds("Bash", undefined, "Stop")).toBe(true);
  });

  it("that is not a valid expression matches everything, and is reported", () => {
    const plan = planHooks([hook("*.(py")], "PreToolUse", "Bash");
    expect(plan.hooks).toHaveLength(1);
    expect(plan.notices).toEqual([expect.stringContaining("not a valid regular expression")]);
  });

  it("that looks like a permission rule matches the tool, and is reported", () => {
    expect(planHooks([hook("Bash(git *)")], "PreToolUse", "Bash").notices).toEqual([
      expect.stringContaining("like a permission rule"),
    ]);
  });

  it("that takes too long is aborted, matches, and is reported", () => {
    const plan = planHooks([hook("(a+)+b")], "PreToolUse", "a".repeat(80));
    expect(plan.hooks).toHaveLength(1);
    expect(plan.notices).toEqual([expect.stringContaining("takes too long")]);
  });
});

it("keeps the order of hooks, and leaves out hooks for other events", () => {
  const hooks = [hook("Bash"), hook("Bash", "PostToolUse"), hook(), hook("Edit")];
  expect(planHooks(hooks, "PreToolUse", "Bash").hooks).toEqual([hooks[0], hooks[2]]);
});

describe("a matcher that names no tool", () => {
  it.each<[string, HookEvent, readonly string[]]>([
    ["Baash", "PreToolUse", ['names "Baash", which is not a tool, so the hook never runs for it. Did you mean Bash?']],
    ["Edit|Wriet", "PostToolUse", ["Did you mean Write?"]],
    ["payy", "PreToolUse", ["Did you mean pay?"]],
    ["zebra", "PermissionRequest", ['names "zebra", which is not a tool, so the hook never runs for it.']],
    ["pay, bash | MultiEdit|mcp__db__query|SlashCommand", "PreToolUse", []],
    ["Explor", "SubagentStart", ["Did you mean Explore?"]],
    ["explore|reviewer", "SubagentStop", []],
    ["zebra", "SubagentStop", []],
    ["Baa.*", "PreToolUse", []],
    ["", "PreToolUse", []],
  ])("%j for %s is reported", (matcher, event, notices) => {
    const found = matcherNotices(hook(matcher, event), { tools: ["pay"], agents: ["Explore", "reviewer"] });
    expect(found).toEqual(notices.map((notice) => expect.stringContaining(notice)));
  });

  it("is reported for an unknown agent, unless it is in the user's settings, which apply in every directory", () => {
    const fromProject = { ...hook("zebra", "SubagentStop"), source: "project", where: "settings.json:3" } as Hook;
    expect(matcherNotices(fromProject, { agents: ["Explore"] })).toEqual([
      'settings.json:3: The matcher of the SubagentStop hook "true" names "zebra", which is not an agent, so the hook never runs for it. Use the name of an agent.',
    ]);
    expect(matcherNotices(fromProject)).toEqual([]);
  });
});
