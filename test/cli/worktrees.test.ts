import { execFileSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createWorktree, settleWorktree, type Worktree } from "../../src/workspace/index.ts";
import { createPlace, type Place, retinue } from "./command-line.ts";

const identity = ["-c", "user.name=T", "-c", "user.email=t@example.com"];

function git({ home, cwd }: Place, ...args: string[]): string {
  const env = { PATH: process.env["PATH"], HOME: join(home, "..") };
  return execFileSync("git", [...identity, ...args], { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

async function makeWorktree(place: Place, agent: string): Promise<Worktree> {
  const directory = join(place.home, "worktrees", "work-1", agent);
  const created = await createWorktree({
    repository: place.cwd,
    directory,
    branch: `retinue/${agent}`,
    includeUncommitted: false,
    environment: process.env,
    now: Date.now(),
    session: "s1",
    agent,
  });
  if (!created.ok) throw new Error(created.message);
  return created.worktree;
}

describe("retinue worktrees", () => {
  it("lists worktrees, prunes those without changes, and prints commands for the others", async () => {
    const place = createPlace();
    const none = { code: 0, stdout: "There are no agent worktrees.\n", stderr: "" };
    expect(await retinue(["worktrees"], place)).toMatchObject(none);
    expect(await retinue(["worktrees", "prune"], place)).toMatchObject(none);
    git(place, "init", "-q", "--template=");
    writeFileSync(join(place.cwd, "a.txt"), "one\n");
    git(place, "add", "-A");
    git(place, "commit", "-qm", "first");
    const [changed, clean, used] = [
      await makeWorktree(place, "a1"),
      await makeWorktree(place, "a2"),
      await makeWorktree(place, "a3"),
    ];
    for (const { path } of [changed, clean]) writeFileSync(join(path, "a.txt"), "work\n");
    for (const each of [changed, clean]) await settleWorktree(each, { environment: process.env });
    writeFileSync(join(clean.path, "a.txt"), "one\n");

    const list = await retinue(["worktrees", "list"], place);
    expect(list).toMatchObject({ code: 0, stderr: "" });
    expect(list.stdout.split("\n").slice(0, 3)).toEqual([
      "retinue/a1 · 1 file changed · just now",
      `  ${changed.path}`,
      `  of ${place.cwd}, agent a1 of session s1`,
    ]);
    expect(list.stdout).toContain("retinue/a2 · clean · just now\n");
    expect(list.stdout).toContain("retinue/a3 · clean · just now · in use\n");
    expect(JSON.parse((await retinue(["worktrees", "list", "--json"], place)).stdout)[0]).toMatchObject({
      path: changed.path,
      branch: "retinue/a1",
      repository: place.cwd,
      session: "s1",
      agent: "a1",
      inUse: false,
      state: "changed",
      changes: "1 file changed",
      files: 1,
      commits: 0,
    });

    const dry = await retinue(["worktrees", "prune", "--dry-run"], place);
    expect(dry.stdout).toContain(`Would remove ${clean.path}: clean\n`);
    expect(existsSync(clean.path)).toBe(true);
    const pruned = await retinue(["worktrees", "prune"], place);
    expect(pruned).toMatchObject({ code: 0, stderr: "" });
    expect(pruned.stdout).toContain(`Removed ${clean.path}: clean\n`);
    expect(pruned.stdout).toContain(`Kept ${used.path}: in use\n`);
    expect(existsSync(clean.path)).toBe(false);

    const lines = pruned.stdout.split("\n");
    const own = lines.slice(lines.indexOf(`Kept ${changed.path}: 1 file changed`) + 1);
    const [, look = "", merge = "", remove = ""] = /^ {2}look {4}(.*)\n {2}merge {3}(.*)\n {2}delete {2}(.*)\n/.exec(
      own.join("\n"),
    )!;
    for (const command of [look, merge]) git(place, "-c", `alias.x=!${command}`, "x");
    expect(git(place, "log", "-1", "--format=%s")).toBe("Add the agent's work\n");
    const json = JSON.parse((await retinue(["worktrees", "prune", "--dry-run", "--json"], place)).stdout);
    expect(json).toMatchObject({
      dryRun: true,
      removed: [{ path: changed.path, changes: expect.stringMatching(/merged$/) }],
    });
    git(place, "-c", `alias.x=!${remove}`, "x");
    expect((await retinue(["worktrees", "prune"], place)).stdout).toContain(
      `Removed ${changed.path}: directory deleted\n`,
    );
    expect(git(place, "branch", "--list", "retinue/*").trim()).toBe("+ retinue/a3");
    rmSync(used.path, { recursive: true });
  });

  it.each([
    [["worktrees", "prun"], 'Did you mean "prune"?'],
    [["worktrees", "prune", "all"], 'does not accept "all"'],
    [["worktrees", "list", "--dry-run"], "--dry-run"],
    [["worktree"], "retinue worktrees"],
  ])("explains what is wrong with %j", async (words, message) => {
    const ended = await retinue(words, createPlace());
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toContain(message);
  });
});
