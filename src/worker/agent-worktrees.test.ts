import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../app/system-clock.ts";
import { cleanUp } from "../transcript/catalog/clean-up.ts";
import { createTranscript } from "../transcript/index.ts";
import { leaveWorktree, openAgentWorktree, settleLostWorktree } from "./agent-worktrees.ts";

const agentId = "a0123456789ab";

function createRepository() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-app-worktree-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const cwd = join(root, "shop");
  const environment = { PATH: process.env["PATH"] ?? "", HOME: root };
  mkdirSync(cwd);
  const git = (...args: string[]): Buffer =>
    execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.com", ...args], { cwd, env: environment });
  git("init", "-q", "--template=");
  git("commit", "-q", "--allow-empty", "-m", "first");
  return { root, cwd, environment, home: join(root, "home") };
}

it("an agent's worktree is kept in its session's directory", async () => {
  const { cwd, environment, home } = createRepository();
  const transcript = await createTranscript({ home, cwd, sessionId: "s1", clock: systemClock });
  const owner = { sessionId: "s1", directory: transcript.path?.replace(/\.jsonl$/, ""), environment };
  const created = await openAgentWorktree(owner, { agentId, cwd, scratch: false, now: Date.now() });
  if (!created.ok) throw new Error(created.message);
  const { worktree } = created;
  expect(worktree.path).toMatch(new RegExp(`^${home}/worktrees/shop-[0-9a-f]{8}/${agentId}$`));
  expect(worktree.branch).toBe(`retinue/${agentId}`);
  const begun = { type: "session.created", sessionId: "s1", cwd, version: "0", serializer: 1 };
  const ended = { type: "run.ended", runId: "r1", outcome: "succeeded" };
  const lines = [begun, ended].map((event, index) => {
    const parentId = index === 0 ? null : "1";
    return `${JSON.stringify({ v: 1, id: String(index + 1), parentId, at: 1, ...event })}\n`;
  });
  await transcript.close();
  const path = transcript.path ?? "";
  const subagents = join(path.replace(/\.jsonl$/, ""), "subagents");
  mkdirSync(subagents, { recursive: true });
  writeFileSync(path, lines.join(""));
  writeFileSync(join(subagents, `agent-${agentId}.jsonl`), lines[1] ?? "");
  for (const file of [path, subagents]) utimesSync(file, 1, 1);
  const kept = cleanUp({ home, days: 1, now: Date.now() }).kept;
  expect(kept).toEqual([{ id: "s1", reason: `The worktree of agent ${agentId} still exists.` }]);
  expect(await leaveWorktree(owner, worktree)).toBeUndefined();
});

it("the worktree of a lost process is kept and reported if it has changes, and removed otherwise", async () => {
  const { cwd, environment } = createRepository();
  const directory = join(tmpdir(), `retinue-l${process.pid}`);
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const owner = { sessionId: `l${process.pid}`, environment };
  expect(await settleLostWorktree(owner, agentId)).toBeUndefined();
  const created = await openAgentWorktree(owner, { agentId, cwd, scratch: false, now: Date.now() });
  if (!created.ok) throw new Error(created.message);
  const { path, branch } = created.worktree;
  writeFileSync(join(path, "made.txt"), "made\n");
  expect(await settleLostWorktree(owner, agentId)).toEqual({ path, branch, changes: "1 file changed" });
  rmSync(join(path, "made.txt"));
  expect(await settleLostWorktree(owner, agentId)).toBeUndefined();
  expect(existsSync(path)).toBe(false);
});

it("a session without files keeps worktrees among its temporary files", async () => {
  const { cwd, environment } = createRepository();
  const owner = { sessionId: `t${process.pid}`, environment };
  const directory = join(tmpdir(), `retinue-t${process.pid}`);
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const created = await openAgentWorktree(owner, { agentId, cwd, scratch: false, now: Date.now() });
  expect(created).toMatchObject({ ok: true, worktree: { path: join(realpathSync(directory), "worktrees", agentId) } });
});
