import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PermissionMode, Policy, Rule } from "../protocol/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { judgeCall } from "./judge-call.ts";

let base = "";
let root = "";

const git = (...args: readonly string[]): void => {
  const environment = { PATH: process.env["PATH"], HOME: base, GIT_CONFIG_NOSYSTEM: "1" };
  const who = ["-c", "user.name=T", "-c", "user.email=t@example.com"];
  execFileSync("git", [...who, ...args], { cwd: root, env: environment, stdio: "pipe" });
};

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "retinue-tracked-")));
  root = join(base, "w");
  for (const directory of ["src", "sub"]) mkdirSync(join(root, directory), { recursive: true });
  writeFileSync(join(root, "src/a.ts"), "export {};\n");
  writeFileSync(join(root, "sub/.env"), "KEY=sk-1\n");
  git("init", "-q");
  git("add", "src");
  git("commit", "-qm", "one");
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

interface Given {
  readonly rules?: readonly Rule[];
  readonly mode?: PermissionMode;
  readonly at?: string;
  readonly confined?: boolean;
}

async function judge(command: string, { rules = [], mode = "default", at = root, confined = true }: Given = {}) {
  const plain = createLocalWorkspace({ root: at, environment: { HOME: base }, home: base });
  const workspace = { ...plain, confinement: async () => ({ kind: confined ? "on" : "off" }) as const };
  const policy: Policy = { mode, pool: ["Bash"], rules, workspaceRoots: [at], readableRoots: [] };
  const { decision } = await judgeCall({ toolName: "Bash", input: { command }, policy }, { workspace, homes: [base] });
  return decision.effect;
}

const printing = [
  "git log -p",
  "git show",
  "git diff HEAD",
  "git grep -q sk-",
  "git grep KEY",
  "git log -Ssk- --oneline",
];

describe("git commands that print tracked files", () => {
  it.each(printing)("need approval if git tracks a file that must not be read: %s", async (command) => {
    expect(await judge(command)).toBe("allow");
    git("add", "-f", "sub/.env");
    for (const confined of [true, false])
      for (const mode of ["default", "acceptEdits", "bypassPermissions"] as const) {
        expect(await judge(command, { mode, confined }), `${mode} ${confined}`).toBe("ask");
      }
    const allow = (text: string): Rule => ({ text, effect: "allow", scope: "user" });
    expect(await judge(command, { rules: [allow("Bash(git:*)")] })).toBe("ask");
    expect(await judge(command, { rules: [allow("Bash")] })).toBe("ask");
    expect(await judge(command, { rules: [allow("Read(.env)")] })).toBe("allow");
    expect(await judge(command, { at: join(root, "src") })).toBe("ask");
  });

  it.each(["git log --oneline", "git status", "git log -p -- src/a.ts", "git ls-files"])(
    "need none if they print no such file: %s",
    async (command) => {
      git("add", "-f", "sub/.env");
      expect(await judge(command)).toBe("allow");
    },
  );

  it.each(["2", "3", "4"])("are recognized with version %s of the index", async (version) => {
    git("add", "-f", "sub/.env");
    writeFileSync(join(root, "sub/later.ts"), "");
    git("add", "-N", "sub/later.ts");
    git("update-index", "--index-version", version);
    expect(await judge("git log -p")).toBe("ask");
    git("rm", "-q", "--cached", "sub/.env");
    expect(await judge("git log -p")).toBe("allow");
  });

  it("are recognized in a worktree, and need approval if the index can't be understood", async () => {
    git("add", "-f", "sub/.env");
    git("commit", "-qm", "two");
    git("worktree", "add", "-q", join(base, "other"));
    expect(await judge("git log -p", { at: join(base, "other") })).toBe("ask");
    git("rm", "-q", "--cached", "sub/.env");
    expect(await judge("git log -p")).toBe("allow");
    writeFileSync(join(root, ".git/index"), "broken");
    expect(await judge("git log -p")).toBe("ask");
  });
});
