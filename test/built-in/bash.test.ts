import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { performTask, toolNames } from "./perform-task.ts";

describe("Bash", () => {
  it("runs allowed commands, and the facts of its run include each command with its exit code", async () => {
    const { outcomes, results, result } = await performTask({
      agent: "Bash",
      say: "Say hello.",
      allowedTools: ["Bash(echo:*)"],
      steps: [{ calls: [{ name: "Bash", input: { command: "echo hello" } }] }, { text: "hello, exit code 0" }],
    });
    expect(outcomes).toEqual(["ok"]);
    expect(results[0]).toContain("hello");
    expect(result.facts.commands).toMatchObject([{ command: "echo hello", exitCode: 0 }]);
  });

  it("has only one tool", async () => {
    const done = await performTask({ agent: "Bash", say: "Nothing.", steps: [{ text: "Nothing was run." }] });
    expect(toolNames(done)).toEqual(["Bash"]);
    const [tool] = done.head.tools;
    expect(JSON.stringify(tool)).not.toMatch(/run_in_background|BashOutput|KillShell/);
    expect(JSON.stringify(tool)).toContain("timeout");
  });

  it("sees the exit code and the output of a failing command", async () => {
    const { result, results } = await performTask({
      agent: "Bash",
      say: "Run the check.",
      permissionMode: "bypassPermissions",
      steps: [{ calls: [{ name: "Bash", input: { command: "echo broken >&2; exit 3" } }] }, { text: "It failed: 3." }],
    });
    expect(results[0]).toContain("broken");
    expect(result.facts.commands).toMatchObject([{ exitCode: 3 }]);
  });

  it("can't read, write or search files with tools", async () => {
    const { outcomes, cwd } = await performTask({
      agent: "Bash",
      say: "Write a file.",
      files: { "a.txt": "alpha\n" },
      permissionMode: "bypassPermissions",
      steps: [
        {
          calls: [
            { name: "Write", input: { file_path: "b.txt", content: "b" } },
            { name: "Read", input: { file_path: "a.txt" } },
            { name: "Grep", input: { pattern: "alpha" } },
          ],
        },
        { text: "I only have a shell." },
      ],
    });
    expect(outcomes).toHaveLength(3);
    expect(outcomes).not.toContain("ok");
    expect(existsSync(join(cwd, "b.txt"))).toBe(false);
  });

  it("does not run commands that are not allowed", async () => {
    const { outcomes, result, cwd } = await performTask({
      agent: "Bash",
      say: "Clean up.",
      files: { "a.txt": "alpha\n" },
      steps: [{ calls: [{ name: "Bash", input: { command: "rm -rf a.txt" } }] }, { text: "It was denied." }],
    });
    expect(outcomes).toEqual(["denied"]);
    expect(result.facts.denied).toMatchObject([{ tool: "Bash" }]);
    expect(existsSync(join(cwd, "a.txt"))).toBe(true);
  });
});
