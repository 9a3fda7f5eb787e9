import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import { type Line, type Message, textOf } from "../../src/protocol/index.ts";
import { createCast, type ScriptedStep } from "../../src/testing/index.ts";
import { needsSandbox } from "../../src/workspace/sandbox/sandbox.test-support.ts";
import { performTask } from "./perform-task.ts";

it("Verification does not run in the project itself, because it needs its own copy", async () => {
  const task = { agent: "Verification", say: "Verify.", steps: [] };
  await expect(performTask(task)).rejects.toThrow("works in its own copy");
});

const files = {
  "sum.mjs": "export const sum = (list) => list.reduce((a, b) => a + b);\n",
  "check.mjs": "import { sum } from './sum.mjs';\nif (sum([1, 2]) !== 3) process.exit(1);\nconsole.log('green');\n",
};

interface Verified {
  readonly cwd: string;
  /** Tool results as text, for each of Verification's requests. */
  readonly results: readonly (readonly string[])[];
  readonly lines: readonly Line[];
  /** Text of the notice that the main agent received when Verification ended. */
  readonly notice: string;
}

/** Runs a main agent that calls Verification and receives its verdict. */
async function verify(
  steps: readonly ScriptedStep[],
  { change = {}, ...options }: SessionOptions & { change?: Record<string, string> } = {},
): Promise<Verified> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-verify-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const cwd = join(root, "work");
  const put = (all: Record<string, string>) => {
    for (const [path, text] of Object.entries(all)) {
      mkdirSync(dirname(join(cwd, path)), { recursive: true });
      writeFileSync(join(cwd, path), text);
    }
  };
  put(files);
  const git = (...args: string[]) => execFileSync("git", args, { cwd, stdio: "pipe" });
  git("init", "-q", "--template=");
  git("add", ".");
  git("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "first");
  put(change);
  const input = { description: "verify the sum", prompt: "VERIFY: sum adds lists.", subagent_type: "Verification" };
  const cast = createCast({
    MAIN: [{ calls: [{ name: "Task", input }] }, { text: "I wait." }, { text: "Told." }],
    VERIFY: steps,
  });
  const environment = { PATH: process.env["PATH"], HOME: root };
  const session = await openSession({
    environment,
    trusted: true,
    ...options,
    cwd,
    home: join(root, "home"),
    model: cast,
  });
  const run = session.prompt("MAIN: verify it.");
  const lines: Line[] = [];
  for await (const update of run) {
    if (update.type === "subagent.event" && "id" in update.event) lines.push(update.event);
  }
  await session.close();
  cast.assertDone();
  const told = cast.requests("MAIN").at(-1)?.at(-1)?.content ?? [];
  return { cwd, results: cast.requests("VERIFY").slice(1).map(resultsIn), lines, notice: textOf(told) };
}

const resultsIn = (messages: readonly Message[]): string[] =>
  (messages.at(-1)?.content ?? []).flatMap((block) => (block.type === "tool_result" ? [textOf(block.content)] : []));
const worktreesOf = (cwd: string): string[] =>
  execFileSync("git", ["worktree", "list", "--porcelain"], { cwd, encoding: "utf8" }).match(/(?<=^worktree ).*/gm) ??
  [];
const bash = (command: string) => ({ name: "Bash", input: { command } });

describe("Verification, started by the main agent,", () => {
  it("runs commands in a copy without approval, in the background, and reports its verdict", needsSandbox, async () => {
    const { results, lines, notice } = await verify([
      { calls: [bash("node check.mjs"), bash("pwd")] },
      { text: "Ran the check.\nVERDICT: pass" },
    ]);
    expect(results[0]?.[0]).toContain("green");
    expect(results[0]?.[1]).toContain("worktrees");
    expect(lines.find(({ type }) => type === "run.started")).toMatchObject({ background: true });
    expect(notice).toContain("VERDICT: pass");
  });

  it("sees uncommitted changes", async () => {
    const { results } = await verify(
      [{ calls: [bash("node check.mjs"), bash("cat extra.mjs")] }, { text: "VERDICT: fail" }],
      { change: { "sum.mjs": "export const sum = () => 0;\n", "extra.mjs": "// forgotten\n" } },
    );
    expect(results[0]?.[0]).not.toContain("green");
    expect(results[0]?.[1]).toContain("forgotten");
  });

  it("can write a failing test; the project stays unchanged, and the copy is removed", needsSandbox, async () => {
    const attack = "import { sum } from './sum.mjs';\nconsole.log(sum([]));\n";
    const { cwd, results, notice } = await verify([
      { calls: [{ name: "Write", input: { file_path: "attack.mjs", content: attack } }] },
      { calls: [bash("node attack.mjs")] },
      { text: "sum([]) throws.\nVERDICT: fail" },
    ]);
    expect(results[1]?.[0]).toContain("TypeError");
    expect(existsSync(join(cwd, "attack.mjs"))).toBe(false);
    expect(notice).toContain("changed in its scratch copy, which was removed: attack.mjs");
    expect(worktreesOf(cwd)).toEqual([cwd]);
    expect(execFileSync("git", ["branch", "--list", "retinue/*"], { cwd, encoding: "utf8" })).toBe("");
  });

  it("keeps a copy with commits, and says where it is", needsSandbox, async () => {
    const commit = "git -c user.name=T -c user.email=t@example.org commit -q --allow-empty -m kept";
    const { cwd, notice } = await verify([{ calls: [bash(commit)] }, { text: "VERDICT: pass" }]);
    expect(notice).toMatch(/worktree: \S+, branch retinue\/a\w{12} \(1 commit\)/);
    expect(worktreesOf(cwd)).toHaveLength(2);
  });

  it.each([
    ["pass but ran nothing", "Looks good.\n**VERDICT: pass**", "it reported pass, but it ran no command"],
    ["no verdict", "Looks good.", "the report has no verdict"],
  ])("is inconclusive if it reports %s, and the reason is given", async (_, text, reason) => {
    const { notice } = await verify([{ text }]);
    expect(notice).toContain(`Looks good.\nVERDICT: inconclusive (${reason})`);
    expect(notice).not.toMatch(/VERDICT: pass/);
  });

  it("can't run commands that name the project, or that a rule denies or asks about", async () => {
    let place = "";
    const { results, lines } = await verify(
      [
        { calls: [bash("git rev-parse --git-common-dir")] },
        (messages) => {
          place = dirname(resultsIn(messages)[0]?.trim() ?? "");
          return { calls: [bash(`touch ${place}/made.txt`), bash("npm --version"), bash("git push origin main")] };
        },
        { text: "VERDICT: inconclusive" },
      ],
      { settings: { permissions: { ask: ["Bash(git push:*)"], deny: ["Bash(npm:*)"] } } },
    );
    expect(results[1]?.every((text) => text.includes("not run"))).toBe(true);
    expect(results[1]?.[0]).toContain("you work in a copy of it");
    expect(existsSync(join(place, "sum.mjs"))).toBe(true);
    expect(existsSync(join(place, "made.txt"))).toBe(false);
    expect(lines.find(({ type }) => type === "run.ended")).toMatchObject({ facts: { denied: { length: 3 } } });
  });

  it("needs the same approval as its parent for commands without a sandbox, but not for edits", async () => {
    const write = { name: "Write", input: { file_path: "attack.mjs", content: "console.log('broken');\n" } };
    const { results, notice } = await verify(
      [{ calls: [write] }, { calls: [bash("node attack.mjs"), bash("node check.mjs")] }, { text: "VERDICT: fail" }],
      { settings: { sandbox: "off", permissions: { allow: ["Bash(node check.mjs)"] } } },
    );
    expect(results[1]?.[0]).toContain("not run");
    expect(results[1]?.[1]).toContain("green");
    expect(notice).toContain("attack.mjs");
  });

  it("has no more rights than a stricter parent's mode grants, so nothing runs and nothing passes", async () => {
    const { cwd, results, notice } = await verify(
      [{ calls: [bash("touch made.txt")] }, { text: "Nothing could be run.\nVERDICT: inconclusive" }],
      { permissionMode: "dontAsk" },
    );
    expect(results[0]?.[0]).toContain("dontAsk");
    expect(readFileSync(join(cwd, "sum.mjs"), "utf8")).toBe(files["sum.mjs"]);
    expect(notice).toContain("VERDICT: inconclusive");
  });
});
