import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import { type Line, textOf } from "../../src/protocol/index.ts";
import { createCast, type ScriptedStep } from "../../src/testing/index.ts";

async function walk(main: readonly ScriptedStep[], child: readonly ScriptedStep[], options: SessionOptions = {}) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-acceptance-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const cwd = join(root, "work");
  mkdirSync(cwd);
  const model = createCast({ MAIN: main, CHILD: child });
  const environment = { PATH: process.env["PATH"], HOME: root };
  const session = await openSession({
    permissionMode: "acceptEdits",
    ...options,
    settings: { sandbox: "off", ...options.settings },
    cwd,
    home: join(root, "home"),
    model,
    environment,
  });
  const run = session.prompt("MAIN: do it.");
  const lines: Line[] = [];
  let details: unknown;
  for await (const update of run) {
    if (update.type === "subagent.event" && "id" in update.event && update.event.type !== "run.cleaned")
      lines.push(update.event);
    if (update.type === "tool.ended" && update.name === "Task") details = update.result.details;
  }
  const result = await run.result;
  await session.close();
  model.assertDone();
  const last = model.requests("MAIN").at(-1)?.at(-1)?.content ?? [];
  const told = last.map((block) => textOf(block.type === "tool_result" ? block.content : [block])).join("\n");
  return { result, details, told, lines, types: lines.map(({ type }) => type) };
}

const task = (more: Record<string, unknown> = {}) => ({
  name: "Task",
  input: { description: "a file", prompt: "CHILD: make it", subagent_type: "general-purpose", ...more },
});
const write = { name: "Write", input: { file_path: "made.txt", content: "made\n" } };
const check = "test -f made.txt";

describe("a call's acceptance check", () => {
  it("runs in the agent's workspace when the agent is done, and exit code 0 means that the work is verified", async () => {
    const { told, details, types, lines } = await walk(
      [{ calls: [task({ acceptance: check })] }, { text: "ok" }],
      [{ calls: [write] }, { text: "Made." }],
      { allowedTools: [`Bash(${check})`] },
    );
    expect(types.slice(-2)).toEqual(["acceptance.checked", "run.ended"]);
    expect(lines.at(-1)).toMatchObject({ acceptance: { command: check, ok: true, exitCode: 0 } });
    expect(details).toMatchObject({ outcome: "succeeded", verified: true });
    expect(told).toContain(`[verified: true (${check})]`);
  });

  it("gives the agent one more attempt in the same run if the check fails", async () => {
    const command = "ls made.txt";
    let heard = "";
    const { details, types, lines } = await walk(
      [{ calls: [task({ acceptance: command })] }, { text: "ok" }],
      [
        { text: "Made." },
        (messages) => {
          heard = textOf(messages.at(-1)?.content ?? []);
          return { calls: [write] };
        },
        { text: "Now it is made." },
      ],
      { allowedTools: [`Bash(${command})`] },
    );
    expect(heard).toMatch(/ls made\.txt exited with code \d.*No such file/s);
    expect(types.filter((type) => /^(run|acceptance)\./.test(type))).toEqual([
      "run.started",
      "acceptance.checked",
      "acceptance.checked",
      "run.ended",
    ]);
    expect(lines.at(-1)).toMatchObject({ outcome: "succeeded", text: "Now it is made.", acceptance: { ok: true } });
    expect(details).toMatchObject({ outcome: "succeeded", verified: true });
  });

  it("does not change the outcome if it fails again, and reports the command's output", async () => {
    const command = "ls made.txt";
    const { told, details } = await walk(
      [{ calls: [task({ acceptance: command })] }, { text: "ok" }],
      [{ text: "Made." }, { text: "Made. Tests pass. verified: true" }],
      { allowedTools: [`Bash(${command})`] },
    );
    expect(details).toMatchObject({ outcome: "succeeded", verified: false });
    expect(told).toMatch(/\[verified: false \(ls made\.txt: exit code \d\)\]\n.*No such file/s);
  });

  it("does not run if no one approves it, and reports the work as not verified, with the reason", async () => {
    const { told, details } = await walk(
      [{ calls: [task({ acceptance: "touch other.txt && true" })] }, { text: "ok" }],
      [{ text: "Made." }],
      { disallowedTools: ["Bash(touch:*)"] },
    );
    expect(details).toMatchObject({ verified: false });
    expect(told).toContain("did not finish");
    expect(told).toContain("Bash(touch:*)");
  });

  it("allows no second attempt if all turns are used up", async () => {
    const command = "ls made.txt";
    const { details, lines } = await walk(
      [{ calls: [task({ acceptance: command, max_turns: 1 })] }, { text: "ok" }],
      [{ text: "Made." }],
      { allowedTools: [`Bash(${command})`] },
    );
    expect(details).toMatchObject({ outcome: "succeeded", verified: false });
    expect(lines.at(-1)).toMatchObject({ reason: "done", acceptance: { ok: false } });
  });

  it("asks for approval if someone can answer, and runs when approved", async () => {
    const asked: string[] = [];
    const command = "cp made.txt copy.txt";
    const { details } = await walk(
      [{ calls: [task({ acceptance: command })] }, { text: "ok" }],
      [{ calls: [write] }, { text: "Made." }],
      {
        approvals: {
          ask: async ({ call }) => {
            asked.push(call.inputJson);
            return { answer: "allow", by: "test" };
          },
        },
      },
    );
    expect(asked).toEqual([JSON.stringify({ command, timeout: 600_000 })]);
    expect(details).toMatchObject({ verified: true });
  });

  it("does not run for work that did not succeed", async () => {
    const { details, types } = await walk(
      [{ calls: [task({ acceptance: check, max_turns: 1 })] }, { text: "ok" }],
      [{ calls: [write] }],
      { allowedTools: [`Bash(${check})`] },
    );
    expect(types).not.toContain("acceptance.checked");
    expect(details).not.toHaveProperty("verified");
  });
});

it("a definition can contain the acceptance check, even for a background agent without a shell", async () => {
  const { told } = await walk(
    [{ calls: [task({ subagent_type: "maker", run_in_background: true })] }, { text: "I wait." }, { text: "Told." }],
    [{ calls: [write] }, { text: "Made." }],
    {
      agents: { maker: { description: "Makes.", prompt: "Make.", tools: ["Write"], acceptance: check } },
      allowedTools: [`Bash(${check})`],
    },
  );
  expect(told).toContain("<task_notification");
  expect(told).toContain(`[verified: true (${check})]`);
});
