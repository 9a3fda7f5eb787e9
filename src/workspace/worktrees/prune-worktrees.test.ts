import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeState } from "./examine-worktree.ts";
import { type ListedWorktree, listWorktrees, pruneWorktrees } from "./list-worktrees.ts";
import { settleWorktree } from "./remove-worktree.ts";
import { createTestPlace, gitThat, type TestPlace, untilNoGitRuns } from "./repository.test-support.ts";

let directory: string;
let program: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "retinue-worktree-program-"));
  program = join(directory, "create.mjs");
  const entryPoints = [join(import.meta.dirname, "create-until-killed.test-support.ts")];
  buildSync({ entryPoints, bundle: true, platform: "node", format: "esm", outfile: program });
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Runs in a separate process, so that the process that owns the worktrees is no longer running. */
async function createElsewhere(
  place: TestPlace,
  agents: readonly string[],
  more: object = {},
): Promise<NodeJS.Signals | null> {
  const requests = agents.map((agent) => ({ ...place.request(agent), ...more }));
  const child = spawn(process.execPath, [program, JSON.stringify(requests)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  return signal;
}

const path = (place: TestPlace, agent: string): string => join(place.home, "worktrees/shop-1", agent);
const inWords = (all: readonly ListedWorktree[]): Record<string, string> =>
  Object.fromEntries(
    all.map(({ record, path, state }) => [record?.agent ?? path.split("/").at(-1)!, describeState(state)]),
  );
const list = async (place: TestPlace) => inWords(await listWorktrees(place.home, place.environment));

async function prune(place: TestPlace, dryRun = false) {
  const { removed, kept, failed } = await pruneWorktrees(place.home, { environment: place.environment, dryRun });
  return { removed: inWords(removed), kept: inWords(kept), failed };
}

describe("worktrees", () => {
  it("are listed with their state, and pruned if nothing would be lost", async () => {
    const place = createTestPlace();
    expect(await list(place)).toEqual({});
    const used = await place.create("used");
    await createElsewhere(place, ["clean", "changed", "merged", "pushed", "gone", "lost"]);
    place.write({ "a.txt": "work\n" }, path(place, "changed"));
    for (const agent of ["merged", "pushed", "gone"]) {
      place.write({ [`${agent}.txt`]: "" }, path(place, agent));
      place.gitIn(path(place, agent), "add", "-A");
      place.gitIn(path(place, agent), "commit", "-qm", agent);
    }
    place.git("merge", "-q", "retinue/merged");
    // Only another agent's branch contains this commit.
    place.git("branch", "retinue/other", "retinue/pushed");
    for (const agent of ["gone", "lost"]) rmSync(path(place, agent), { recursive: true });
    mkdirSync(path(place, "stranger"));
    writeFileSync(`${path(place, "left")}.index`, "");
    mkdirSync(`${path(place, "left")}.removing/x`, { recursive: true });

    const removable = {
      clean: "clean",
      gone: "directory deleted, 1 commit",
      lost: "directory deleted",
      merged: "1 file changed, 1 commit, merged",
    };
    const rest = {
      used: "clean",
      changed: "1 file changed",
      pushed: "1 file changed, 1 commit",
      stranger: "orphan: nothing is known about it",
    };
    expect(await list(place)).toEqual({ ...removable, ...rest });
    const all = readdirSync(path(place, "."));
    expect(await prune(place, true)).toEqual({ removed: removable, kept: rest, failed: [] });
    expect(readdirSync(path(place, "."))).toEqual(all);
    expect(await prune(place)).toEqual({ removed: removable, kept: rest, failed: [] });
    expect(await list(place)).toEqual(rest);
    expect(readdirSync(path(place, ".")).sort()).toEqual(
      ["changed", "pushed", "used"]
        .flatMap((name) => [name, `${name}.index`, `${name}.json`])
        .concat("stranger")
        .sort(),
    );
    expect(place.git("branch", "--list", "--format=%(refname:short)", "retinue/*").split("\n")).toEqual(
      ["changed", "gone", "other", "pushed", "used"].map((agent) => `retinue/${agent}`),
    );
    // Once its agent has finished, the worktree is kept or removed like any other.
    expect(await settleWorktree(used, place)).toEqual({ state: "removed" });
  });

  it("are pruned after their changes were reverted manually, together with their project's directory", async () => {
    const place = createTestPlace();
    const worktree = await place.create();
    place.write({ "a.txt": "work\n" }, worktree.path);
    expect(await settleWorktree(worktree, place)).toMatchObject({ state: "kept" });
    expect(await prune(place)).toEqual({ removed: {}, kept: { a1: "1 file changed" }, failed: [] });
    place.gitIn(worktree.path, "restore", ".");
    expect(await prune(place)).toEqual({ removed: { a1: "clean" }, kept: {}, failed: [] });
    expect(readdirSync(join(place.home, "worktrees"))).toEqual([]);
  });
});

describe("a process that is killed while it creates a worktree", () => {
  const cases = [
    ["before", "update-ref"],
    ["before", "worktree"],
    ["after", "worktree"],
    ["before", "read-tree"],
    ["before", "update-index"],
    ["after", "update-index"],
  ] as const;
  it.each(cases)("%s git %s leaves a worktree that can be pruned or recreated", async (moment, command) => {
    const place = createTestPlace();
    place.write({ "a.txt": "edited\n" });
    const script = `${moment === "before" ? "" : '"$real" "$@"; '}kill -9 $PPID`;
    const more = { environment: gitThat(place, script, command), includeUncommitted: true };
    expect(await createElsewhere(place, ["a1"], more)).toBe("SIGKILL");
    await untilNoGitRuns(place);
    expect(await list(place)).toEqual({ a1: "unfinished" });
    if (moment === "before") {
      expect(await prune(place)).toEqual({ removed: { a1: "unfinished" }, kept: {}, failed: [] });
      expect(place.git("branch", "--list", "retinue/*")).toBe("");
      expect(place.git("worktree", "list").split("\n")).toHaveLength(1);
    }
    const worktree = await place.create("a1", { includeUncommitted: true });
    expect(readFileSync(join(worktree.path, "a.txt"), "utf8")).toBe("edited\n");
    expect(place.git("worktree", "list").split("\n")).toHaveLength(2);
    expect(await settleWorktree(worktree, place)).toEqual({ state: "removed" });
  });
});
