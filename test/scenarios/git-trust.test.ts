import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadProjectSettings, openSession } from "../../src/app/index.ts";
import { createScriptedModel } from "../../src/testing/index.ts";

/** A repository that starts a program which leaves a trace, and the git commands that start it. */
const repositories: readonly (readonly [string, Readonly<Record<string, string>>, readonly string[]])[] = [
  ["a hook", { ".git/hooks/pre-commit": "#!/bin/sh\ntouch trace\n" }, ["git add b.txt", "git commit -m x"]],
  [
    "hooks elsewhere, behind a continued line",
    {
      ".git/config": "[core]\n\twhitespace = foo \\\n[color]\n\thooksPath = h\n[user]\n\tname = a\n\temail = a@b\n",
      "h/pre-commit": "#!/bin/sh\ntouch trace\n",
    },
    ["git add b.txt", "git commit -m x"],
  ],
  [
    "an unfinished rebase",
    { ".git/rebase-merge/git-rebase-todo": "exec touch trace\n", ".git/rebase-merge/onto": "HEAD\n" },
    ["git rebase --continue", "git rebase --skip"],
  ],
  ["a remote in a file", { ".git/remotes/origin": "URL: ./sub.git\n" }, ["git push", "git fetch"]],
];

async function outcomesOf(
  files: Readonly<Record<string, string>>,
  commands: readonly string[],
  trust: boolean,
  allowedTools: readonly string[] = ["Bash(git:*)"],
) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-git-trust-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const cwd = join(root, "work");
  mkdirSync(cwd);
  const git = (...words: string[]) => execFileSync("git", words, { cwd, stdio: "ignore" });
  git("init", "-q", "--template=");
  for (const name of ["name", "email"]) git("config", `user.${name}`, "a@b");
  git("commit", "-q", "--allow-empty", "-m", "first");
  for (const [name, text] of Object.entries({ "b.txt": "b", ...files })) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text, { mode: 0o755 });
  }
  const place = { cwd, home: join(root, "state"), environment: { HOME: root, PATH: process.env["PATH"] ?? "" } };
  const { settings, trusted } = loadProjectSettings({ ...place, trust });
  const calls = commands.map((command) => ({ calls: [{ name: "Bash", input: { command } }] }));
  const session = await openSession({
    ...place,
    settings: { ...settings, sandbox: "off" },
    allowedTools: [...allowedTools],
    trusted,
    model: createScriptedModel([...calls, { text: "Done." }]),
  });
  onTestFinished(() => session.close());
  const run = session.prompt("Go.");
  const outcomes: string[] = [];
  for await (const update of run) if (update.type === "tool.ended") outcomes.push(update.result.outcome);
  await run.result;
  return { outcomes, hasRun: existsSync(join(cwd, "trace")) };
}

describe("a rule for git does not let a repository that is not trusted start programs", () => {
  it.each(repositories)("%s", async (_, files, commands) => {
    const { outcomes, hasRun } = await outcomesOf(files, commands, false);
    expect(outcomes).toEqual(["denied", "denied"]);
    expect(hasRun).toBe(false);
  });

  it("and lets it read", async () => {
    const { outcomes } = await outcomesOf({}, ["git status", "git log --oneline"], false);
    expect(outcomes).toEqual(["ok", "ok"]);
  });

  it.each([true, false])("and applies to a repository that starts nothing (trusted: %s)", async (trust) => {
    const { outcomes } = await outcomesOf({}, ["git add b.txt", "git commit -m x"], trust);
    expect(outcomes).toEqual(["ok", "ok"]);
  });

  it("and can start programs that are not git", async () => {
    const commands = ["git status && node --version", "git log -1 > log.txt"];
    const { outcomes } = await outcomesOf({}, commands, false, ["Bash(git:*)", "Bash(node --version)", "Edit"]);
    expect(outcomes).toEqual(["ok", "ok"]);
  });
});
