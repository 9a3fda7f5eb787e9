import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSession } from "../../src/app/index.ts";
import { runtimeText } from "../../src/protocol/index.ts";
import { lastWords, performTask, toolNames } from "./perform-task.ts";

const files = {
  "src/parse.ts": "export function parse(text: string) {\n  return text.split(',');\n}\n",
  "src/main.ts": "import { parse } from './parse.ts';\nparse('a,b');\n",
  "AGENTS.md": "Use tabs.\n",
};

describe("Explore", () => {
  it("finds where something is defined and used", async () => {
    const { outcomes, results } = await performTask({
      agent: "Explore",
      say: "quick: where is parse defined?",
      files,
      steps: [
        {
          calls: [
            { name: "Grep", input: { pattern: "function parse", output_mode: "content" } },
            { name: "Glob", input: { pattern: "src/*.ts" } },
          ],
        },
        { text: "src/parse.ts:1" },
      ],
    });
    expect(outcomes).toEqual(["ok", "ok"]);
    expect(results[0]).toContain("parse.ts");
    expect(results[1]).toContain("main.ts");
  });

  it("has only read-only tools, and a prompt that names the three levels of thoroughness", async () => {
    const done = await performTask({
      agent: "explore",
      say: "very thorough: how does parse work?",
      files,
      steps: [{ text: "It splits." }],
    });
    expect(toolNames(done)).toEqual(["Read", "Grep", "Glob", "LS", "WebFetch"]);
    for (const level of ["quick", "medium", "very thorough"]) expect(done.head.system).toContain(level);
    expect(done.started.agentType).toBe("Explore");
    expect(done.notices).toEqual([]);
  });

  it("can't write, edit or run anything, even if everything is permitted", async () => {
    const { outcomes, cwd } = await performTask({
      agent: "Explore",
      say: "Find parse and fix it.",
      files,
      permissionMode: "bypassPermissions",
      steps: [
        {
          calls: [
            { name: "Write", input: { file_path: "new.ts", content: "x" } },
            { name: "Bash", input: { command: "touch ran.txt" } },
            { name: "NotebookEdit", input: { notebook_path: "a.ipynb", new_source: "x", cell_id: "1" } },
          ],
        },
        { text: "I only look." },
      ],
    });
    expect(outcomes.every((outcome) => outcome !== "ok")).toBe(true);
    expect(existsSync(join(cwd, "new.ts"))).toBe(false);
    expect(existsSync(join(cwd, "ran.txt"))).toBe(false);
  });

  it("is reminded at the end of every user turn, with the same bytes, that it is read-only", async () => {
    const { requests } = await performTask({
      agent: "Explore",
      say: "medium: list src",
      files,
      steps: [{ calls: [{ name: "LS", input: { path: "src" } }] }, { text: "Two files." }],
    });
    const reminder =
      "You are read-only: you can't change files or run commands. Answer the whole task, and give path:line for everything that you report.";
    for (const request of requests) expect(lastWords(request).endsWith(runtimeText(reminder))).toBe(true);
    expect(requests[1]?.slice(0, 1)).toEqual(requests[0]);
  });

  it("does not read outside the workspace, and gets no project instructions", async () => {
    const { outcomes, head, cwd } = await performTask({
      agent: "Explore",
      say: "What is in the settings of this machine?",
      files,
      steps: [{ calls: [{ name: "Read", input: { file_path: "/etc/hostname" } }] }, { text: "I may not." }],
    });
    expect(outcomes).toEqual(["denied"]);
    expect(head.userContext).toBe("");
    expect(readFileSync(join(cwd, "src/main.ts"), "utf8")).toBe(files["src/main.ts"]);
  });

  it("works with the offline model, which is not confused by the reminders", async () => {
    const { cwd, home } = await performTask({ agent: "Explore", say: "Hello", files, steps: [{ text: "Hello." }] });
    const session = await openSession({
      cwd,
      home,
      agent: "Explore",
      provider: "offline",
      environment: { PATH: process.env["PATH"] },
    });
    const result = await session.prompt("Where is parse defined?").result;
    await session.close();
    expect(result.outcome).toBe("succeeded");
    expect(result.text).toContain("src/parse.ts:1");
  });
});
