import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { performTask, toolNames } from "./perform-task.ts";

const rc = "../.bashrc";
const settings = "../home/settings.json";
const files = { [rc]: "PS1='\\u@\\h:\\w\\$ '\n", [settings]: '{ "maxTurns": 20 }\n' };
const line = '"statusLine": { "type": "command", "command": "printf %s \\"$(whoami)\\"" }';

describe("statusline-setup", () => {
  it("turns a prompt into a status line and does not change other settings", async () => {
    const { outcomes, home } = await performTask({
      agent: "statusline-setup",
      say: "Use my shell prompt.",
      files,
      approvals: { ask: async () => ({ answer: "allow", by: "test" }) },
      steps: [
        {
          calls: [
            { name: "Read", input: { file_path: rc } },
            { name: "Read", input: { file_path: settings } },
          ],
        },
        {
          calls: [
            {
              name: "Edit",
              input: { file_path: settings, old_string: '"maxTurns": 20', new_string: `"maxTurns": 20, ${line}` },
            },
          ],
        },
        { text: "The line shows the user." },
      ],
    });
    expect(outcomes).toEqual(["ok", "ok", "ok"]);
    expect(JSON.parse(readFileSync(join(home, "settings.json"), "utf8"))).toEqual({
      maxTurns: 20,
      statusLine: { type: "command", command: 'printf %s "$(whoami)"' },
    });
  });

  it("has Read and Edit, and a prompt that names this installation's settings file", async () => {
    const done = await performTask({ agent: "statusline-setup", say: "Show the branch.", steps: [{ text: "Which?" }] });
    expect(toolNames(done)).toEqual(["Read", "Edit"]);
    expect(done.head.system).toContain(join(done.home, "settings.json"));
    expect(done.head.system).toContain("You can't run commands or create files");
    expect(done.head.system).not.toContain("undefined");
  });

  it("asks before it reads outside the workspace and before it changes settings", async () => {
    const asked: string[] = [];
    await performTask({
      agent: "statusline-setup",
      say: "Use my shell prompt.",
      files,
      approvals: {
        ask: async ({ call }) => {
          asked.push(call.name);
          return { answer: "allow", by: "test" };
        },
      },
      steps: [
        { calls: [{ name: "Read", input: { file_path: settings } }] },
        { calls: [{ name: "Edit", input: { file_path: settings, old_string: "20", new_string: "21" } }] },
        { text: "Done." },
      ],
    });
    expect(asked).toEqual(["Read", "Edit"]);
  });

  it("changes nothing if no one can be asked", async () => {
    const { outcomes, home } = await performTask({
      agent: "statusline-setup",
      say: "Use my shell prompt.",
      files,
      permissionMode: "acceptEdits",
      steps: [
        { calls: [{ name: "Read", input: { file_path: settings } }] },
        { calls: [{ name: "Edit", input: { file_path: settings, old_string: "20", new_string: "21" } }] },
        { text: "I may not." },
      ],
    });
    expect(outcomes).toEqual(["denied", "denied"]);
    expect(readFileSync(join(home, "settings.json"), "utf8")).toBe(files[settings]);
  });

  it("can't run the command that it writes, or write other files", async () => {
    const { outcomes, cwd } = await performTask({
      agent: "statusline-setup",
      say: "Test it.",
      permissionMode: "bypassPermissions",
      steps: [
        {
          calls: [
            { name: "Bash", input: { command: "touch ran.txt" } },
            { name: "Write", input: { file_path: "line.sh", content: "x" } },
          ],
        },
        { text: "I can't." },
      ],
    });
    expect(outcomes).toHaveLength(2);
    expect(outcomes).not.toContain("ok");
    expect(existsSync(join(cwd, "ran.txt")) || existsSync(join(cwd, "line.sh"))).toBe(false);
  });
});
