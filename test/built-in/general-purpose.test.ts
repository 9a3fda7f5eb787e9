import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { performTask, toolNames } from "./perform-task.ts";

const files = { "greet.sh": "echo helo\n" };

describe("general-purpose", () => {
  it("finds, changes and verifies code in one task", async () => {
    const { outcomes, result, cwd } = await performTask({
      agent: "general-purpose",
      say: "Fix the spelling of the greeting.",
      files,
      permissionMode: "acceptEdits",
      allowedTools: ["Bash(sh greet.sh)"],
      steps: [
        { calls: [{ name: "Grep", input: { pattern: "helo" } }] },
        { calls: [{ name: "Read", input: { file_path: "greet.sh" } }] },
        { calls: [{ name: "Edit", input: { file_path: "greet.sh", old_string: "helo", new_string: "hello" } }] },
        { calls: [{ name: "Bash", input: { command: "sh greet.sh" } }] },
        { text: "greet.sh:1 says hello; ran it." },
      ],
    });
    expect(outcomes).toEqual(["ok", "ok", "ok", "ok"]);
    expect(readFileSync(join(cwd, "greet.sh"), "utf8")).toBe("echo hello\n");
    expect(result.facts.filesChanged).toEqual(["greet.sh"]);
  });

  it("has every tool except those that ask or plan", async () => {
    const done = await performTask({ agent: "general", say: "What can you do?", steps: [{ text: "Much." }] });
    expect(toolNames(done)).toEqual(
      expect.arrayContaining(["Read", "Edit", "Write", "Bash", "Grep", "Glob", "TodoWrite"]),
    );
    for (const name of ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"]) {
      expect(toolNames(done)).not.toContain(name);
    }
    expect(done.started.agentType).toBe("general-purpose");
  });

  it("writes new files if edits are accepted", async () => {
    const { outcomes, cwd } = await performTask({
      agent: "general-purpose",
      say: "Add a licence.",
      permissionMode: "acceptEdits",
      steps: [{ calls: [{ name: "Write", input: { file_path: "LICENSE", content: "MIT\n" } }] }, { text: "Added." }],
    });
    expect(outcomes).toEqual(["ok"]);
    expect(existsSync(join(cwd, "LICENSE"))).toBe(true);
  });

  it("has no more rights than its session: unapproved edits and commands are denied", async () => {
    const { outcomes, cwd } = await performTask({
      agent: "general-purpose",
      say: "Change it.",
      files,
      steps: [
        { calls: [{ name: "Read", input: { file_path: "greet.sh" } }] },
        {
          calls: [
            { name: "Edit", input: { file_path: "greet.sh", old_string: "helo", new_string: "hello" } },
            { name: "Bash", input: { command: "rm greet.sh" } },
          ],
        },
        { text: "Both were denied." },
      ],
    });
    expect(outcomes).toEqual(["ok", "denied", "denied"]);
    expect(readFileSync(join(cwd, "greet.sh"), "utf8")).toBe(files["greet.sh"]);
  });

  it("does not get a tool that the session excludes", async () => {
    const done = await performTask({
      agent: "general-purpose",
      say: "Run it.",
      disallowedTools: ["Bash"],
      permissionMode: "bypassPermissions",
      steps: [{ calls: [{ name: "Bash", input: { command: "touch ran.txt" } }] }, { text: "I can't." }],
    });
    expect(toolNames(done)).not.toContain("Bash");
    expect(done.outcomes).not.toContain("ok");
    expect(existsSync(join(done.cwd, "ran.txt"))).toBe(false);
  });
});
