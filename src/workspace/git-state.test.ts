import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parseStatus, readGitState } from "./git-state.ts";

it.each([
  ["## main", "main"],
  ["## main...origin/main", "main"],
  ["## main...origin/main [ahead 1, behind 2]", "main"],
  ["## feature/a.b...origin/feature/a.b [gone]", "feature/a.b"],
  ["## No commits yet on trunk", "trunk"],
  ["## HEAD (no branch)", undefined],
])("reads the branch from %s", (line, branch) => {
  expect(parseStatus(`${line}\n`)).toEqual({ branch, changes: [], changed: 0 });
});

it("lists the first twenty changes and counts all of them", () => {
  const files = Array.from({ length: 30 }, (_, index) => ` M file-${index}`);
  const { changes, changed } = parseStatus(`## main\n${files.join("\n")}\n`);
  expect(changes).toEqual(files.slice(0, 20));
  expect(changed).toBe(30);
});

it("returns an empty state if the configuration is a named pipe, which would block git", async () => {
  const root = mkdtempSync(join(tmpdir(), "git-state-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  execFileSync("git", ["init", "-q", root]);
  rmSync(join(root, ".git/config"));
  execFileSync("mkfifo", [join(root, ".git/config")]);
  expect(await readGitState(root, process.env)).toEqual({});
});

it("does not run a git from the directory, even if that git is on the PATH", async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "git-state-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  execFileSync("git", ["init", "-q", "-b", "trunk", root]);
  mkdirSync(join(root, "bin"));
  writeFileSync(join(root, "bin/git"), "#!/bin/sh\necho '## evil'\n", { mode: 0o755 });
  const PATH = `${root}/bin:${process.env["PATH"]}`;
  expect(await readGitState(root, { ...process.env, PATH })).toMatchObject({ branch: "trunk" });
});
