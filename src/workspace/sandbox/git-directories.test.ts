import { lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { changedHooks } from "./git-directories.ts";

function repository(): { readonly root: string; readonly hooks: string } {
  const root = mkdtempSync(join(tmpdir(), "changed-hooks-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const hooks = join(root, ".git/hooks");
  mkdirSync(hooks, { recursive: true });
  return { root, hooks };
}

const changedAt = (...paths: string[]): number => Math.max(...paths.map((path) => lstatSync(path).ctimeMs));

it("finds programs in a repository's hooks that are newer than a given time", () => {
  const { root, hooks } = repository();
  const hook = join(hooks, "pre-commit");
  writeFileSync(hook, "#!/bin/sh\n", { mode: 0o755 });
  writeFileSync(join(hooks, "pre-push"), "#!/bin/sh\n");
  writeFileSync(join(hooks, "commit-msg.sample"), "#!/bin/sh\n", { mode: 0o755 });
  expect(changedHooks(root, changedAt(hook, hooks))).toEqual([]);
  expect(changedHooks(root, 0)).toEqual([hook]);
  mkdirSync(join(root, "src"));
  expect(changedHooks(join(root, "src"), 0)).toEqual([hook]);
});

it("is not misled by changed file times", () => {
  const { root, hooks } = repository();
  const hook = join(hooks, "pre-commit");
  writeFileSync(hook, "#!/bin/sh\n", { mode: 0o755 });
  const before = changedAt(hook, hooks) - 1;
  for (const path of [hook, hooks]) utimesSync(path, 0, 0);
  expect(changedHooks(root, before)).toEqual([hook]);
});

it("follows symlinks, and notices that the directory was replaced", () => {
  const { root, hooks } = repository();
  const program = join(root, "program");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
  symlinkSync(program, join(hooks, "pre-commit"));
  symlinkSync(join(root, "nothing"), join(hooks, "pre-push"));
  expect(changedHooks(root, changedAt(program) - 1)).toEqual([join(hooks, "pre-commit")]);

  const other = join(root, "other");
  mkdirSync(other);
  writeFileSync(join(other, "post-commit"), "#!/bin/sh\n", { mode: 0o755 });
  rmSync(hooks, { recursive: true });
  renameSync(other, hooks);
  expect(changedHooks(root, changedAt(hooks) - 1)).toContain(join(hooks, "post-commit"));
});

it("finds nothing without a repository", () => {
  const root = mkdtempSync(join(tmpdir(), "changed-hooks-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  expect(changedHooks(root, 0)).toEqual([]);
});
