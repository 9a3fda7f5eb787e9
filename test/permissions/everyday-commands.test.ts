import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { judgeCall } from "../../src/executor/judge-call.ts";
import type { Policy } from "../../src/protocol/index.ts";
import { createLocalWorkspace } from "../../src/workspace/index.ts";

const commands = readFileSync(join(import.meta.dirname, "everyday-commands.txt"), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"));

let top = "";
beforeAll(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "everyday-")));
  const root = join(top, "project");
  const text = Array.from({ length: 60 }, (_, line) => `export const line${line} = ${line}; // TODO\n`).join("");
  for (const name of [
    ...["package.json", "README.md", "app.log", "data.csv", "logo.png", ".env.example", "Makefile", "go.mod"],
    ...["src/index.ts", "src/util.ts", "src/util.test.ts", "test/a.ts", "dist/main.js", "node_modules/a/index.js"],
  ])
    put(join(root, name), text);
  mkdirSync(join(top, "home"));
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", root, "-c", "user.name=alice", "-c", "user.email=alice@example.com", ...args]);
  git("init", "-q", "-b", "main");
  git("add", "-A");
  for (const message of ["one", "two", "three", "four"]) git("commit", "-q", "--allow-empty", "-m", message);
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Returns the commands that need approval. */
async function asking(sandboxed: boolean): Promise<readonly string[]> {
  const [root, home] = [join(top, "project"), join(top, "home")];
  const local = createLocalWorkspace({ root, environment: { HOME: home }, home });
  const workspace = { ...local, confinement: async () => ({ kind: sandboxed ? "on" : "off" }) as const };
  const policy: Policy = { mode: "default", pool: ["Bash"], rules: [], workspaceRoots: [root], readableRoots: [] };
  const asked: string[] = [];
  for (const command of commands) {
    const call = { toolName: "Bash", input: { command }, policy };
    const { decision } = await judgeCall(call, { workspace, homes: [home] });
    if (decision.effect !== "allow") asked.push(`${command}  (${decision.reason})`);
  }
  return asked;
}

it("the list contains more than 200 everyday commands", () => {
  expect(new Set(commands).size).toBe(commands.length);
  expect(commands.length).toBeGreaterThan(200);
});

it.each([
  { place: "without a sandbox", sandboxed: false, share: 0.6 },
  { place: "with a sandbox", sandboxed: true, share: 0.95 },
])("at least $share of the commands need no approval $place", async ({ sandboxed, share }) => {
  const asked = await asking(sandboxed);
  const allowed = 1 - asked.length / commands.length;
  console.log(`${(allowed * 100).toFixed(1)} % need no approval. These do:\n  ${asked.join("\n  ")}`);
  expect(allowed).toBeGreaterThanOrEqual(share);
});
