import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { definitionHookEvents, readHookEntries } from "./hook.ts";

describe("hooks", () => {
  it.each([
    ["nested", { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "./a.sh" }] }] }],
    ["flat with a matcher", { PreToolUse: [{ matcher: "Bash", command: "./a.sh" }] }],
    ["not in a list", { PreToolUse: { matcher: "Bash", command: "./a.sh" } }],
  ])("can be written in this form: %s", (_, value) => {
    expect(readHookEntries(value)).toEqual({
      hooks: [{ event: "PreToolUse", matcher: "Bash", command: "./a.sh" }],
      problems: [],
    });
  });

  it("can have a time limit and arguments, and need no matcher", () => {
    const entry = { type: "command", command: "node", args: ["a.js"], timeout: 5 };
    expect(readHookEntries({ Stop: [entry] }).hooks).toEqual([
      { event: "Stop", command: "node", args: ["a.js"], timeoutSeconds: 5 },
    ]);
  });

  it.each([
    [{ matchr: "Bash", hooks: [{ command: "a" }] }, /^The key "matchr" in a hook for "Stop" is unknown/],
    [{ hooks: [{ command: "a", matcher: "Bash" }] }, /^The key "matcher"/],
    [{ command: "a", timout: 5 }, /^The key "timout"/],
    [{ command: "a", timeout: "soon" }, /^The timeout of a hook for "Stop" is not a number/],
  ])("run even if a key has no effect, which is reported: %j", (entry, message) => {
    const { hooks, problems } = readHookEntries({ Stop: [entry] });
    expect(hooks).toMatchObject([{ command: "a" }]);
    expect(problems).toMatchObject([{ event: "Stop", message: expect.stringMatching(message) }]);
  });

  it("keep their order in a list", () => {
    const value = {
      PostToolUse: [{ matcher: "Edit", hooks: [{ command: "a" }, { command: "b" }] }, { command: "c" }],
      SubagentStop: [{ matcher: "db", command: "d" }],
    };
    expect(readHookEntries(value).hooks.map(({ command }) => command)).toEqual(["a", "b", "c", "d"]);
  });
});

describe("an unusable entry is reported and ignored", () => {
  it.each([
    [{ pre: "echo a", post: "echo b" }, ["pre", "post"]],
    [{ Setup: [{ command: "a" }] }, ["Setup"]],
    [{ PreToolUse: [{ type: "prompt", prompt: "x" }] }, ["PreToolUse"]],
    [{ PreToolUse: [{ type: "http", url: "https://example.com", command: "a" }] }, ["PreToolUse"]],
    [{ PreToolUse: [{ matcher: 5, command: "a" }] }, ["PreToolUse"]],
    [{ PreToolUse: ["./a.sh", null, { command: " " }] }, ["PreToolUse", "PreToolUse", "PreToolUse"]],
    [{ PreToolUse: [{ command: "a", if: "Bash(git *)" }] }, ["PreToolUse"]],
    [{ PreToolUse: [{ command: "a", args: "b" }] }, ["PreToolUse"]],
    ["echo", [undefined]],
    [[{ command: "a" }], [undefined]],
  ])("%j", (value, events) => {
    const { hooks, problems } = readHookEntries(value);
    expect(hooks).toEqual([]);
    expect(problems.map(({ event }) => event)).toEqual(events);
  });

  it("if a definition can't have hooks for its event", () => {
    const { hooks, problems } = readHookEntries({ SessionStart: [{ command: "a" }] }, definitionHookEvents);
    expect(hooks).toEqual([]);
    expect(problems[0]?.message).toContain("belongs in settings");
  });
});

it("every hook has a command and a known event, whatever the input", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      for (const { command, event } of readHookEntries({ PreToolUse: value, other: value }).hooks) {
        expect(command.trim()).not.toBe("");
        expect(event).toBe("PreToolUse");
      }
    }),
  );
});
