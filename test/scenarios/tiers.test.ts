import { mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import type { EventOf, RunUpdate, ToolReport } from "../../src/protocol/index.ts";
import { createCast, type ScriptedStep } from "../../src/testing/index.ts";

interface Seen {
  readonly ended: readonly EventOf<"tool.ended">[];
  readonly started: readonly EventOf<"run.started">[];
}

/** Runs a session and returns what its subagents did and received. */
async function walk(
  parts: Readonly<Record<string, readonly ScriptedStep[]>>,
  options: SessionOptions = {},
): Promise<Seen> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-tiers-")));
  const cwd = mkdtempSync(join(root, "work-"));
  writeFileSync(join(cwd, "notes.txt"), "alpha\n");
  const home = join(root, "home");
  const model = createCast(parts);
  const environment = { PATH: process.env["PATH"], HOME: home };
  const session = await openSession({ permissionMode: "bypassPermissions", ...options, cwd, home, model, environment });
  const run = session.prompt("MAIN: do it.");
  const updates: RunUpdate[] = [];
  for await (const update of run) updates.push(update);
  await run.result;
  await session.close();
  model.assertDone();
  const events = updates.flatMap((update) => (update.type === "subagent.event" ? [update.event] : []));
  return {
    ended: events.filter((event) => event.type === "tool.ended"),
    started: events.filter((event) => event.type === "run.started"),
  };
}

const task = (prompt: string, more: Record<string, unknown> = {}) => ({
  name: "Task",
  input: { description: "a piece of work", prompt, subagent_type: "general-purpose", ...more },
});
const read = { name: "Read", input: { file_path: "notes.txt" } };
const write = { name: "Write", input: { file_path: "new.txt", content: "new" } };
const bash = { name: "Bash", input: { command: "echo hi" } };
const outcomes = ({ ended }: Seen): Readonly<Record<string, string>> =>
  Object.fromEntries(ended.map(({ name, result }) => [name, result.outcome]));
const why = (report: ToolReport | undefined, tool: string): string | undefined =>
  report?.withheld?.find((each) => each.tool === tool)?.why;

describe("a tool that an agent's tier withholds", () => {
  it("is denied if it is called anyway, and the launch explains why it is missing", async () => {
    const calls = [
      task("deeper"),
      { name: "TaskOutput", input: { task_id: "a1" } },
      { name: "TaskStop", input: { task_id: "a1" } },
      { name: "SendMessage", input: { to: "a1", message: "hello" } },
      read,
    ];
    const seen = await walk({
      MAIN: [{ calls: [task("CHILD: try")] }, { text: "ok" }],
      CHILD: [{ calls }, { text: "done" }],
    });
    expect(outcomes(seen)).toEqual({
      Task: "denied",
      TaskOutput: "denied",
      TaskStop: "denied",
      SendMessage: "denied",
      Read: "ok",
    });
    const [{ tools } = {}] = seen.started;
    expect(why(tools, "Task")).toContain("subagents.maxDepth is 1");
    expect(tools?.resolvedTools).toContain("Read");
    expect(tools?.resolvedTools).not.toContain("Task");
  });

  it("is denied to a read-only agent, in the foreground and in the background", async () => {
    for (const run_in_background of [false, true]) {
      const explore = task("CHILD: look", { subagent_type: "Explore", run_in_background });
      const seen = await walk({
        MAIN: [{ calls: [explore] }, { text: "ok" }, ...(run_in_background ? [{ text: "told" }] : [])],
        CHILD: [{ calls: [write, bash, read] }, { text: "done" }],
      });
      expect(outcomes(seen)).toEqual({ Write: "denied", Bash: "denied", Read: "ok" });
    }
  });
});

describe("with a depth of more than one", () => {
  it("agents can delegate down to that depth, and a grandchild keeps the session's denials", async () => {
    const seen = await walk(
      {
        MAIN: [{ calls: [task("CHILD: go on")] }, { text: "ok" }],
        CHILD: [{ calls: [task("LEAF: try")] }, { text: "done" }],
        LEAF: [{ calls: [task("deeper still"), read, bash] }, { text: "tried" }],
      },
      { settings: { subagents: { maxDepth: 2 } }, disallowedTools: ["Read(notes.txt)", "Bash(echo:*)"] },
    );
    const ended = seen.ended.map(({ name, result }) => `${name} ${result.outcome}`);
    // The three calls of the grandchild end in any order.
    expect(ended.slice(0, 3).sort()).toEqual(["Bash denied", "Read denied", "Task denied"]);
    expect(ended.slice(3)).toEqual(["Task ok"]);
    expect(seen.started.map(({ tools }) => tools?.resolvedTools.includes("Task"))).toEqual([true, false]);
  });
});
