import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openSessionOn } from "../../src/app/session/open-session.ts";
import type { SessionOptions } from "../../src/app/session/session-options.ts";
import type { ToolExecutor, WorkerPort, WorkerSession } from "../../src/ports/index.ts";
import { type CallId, type Line, type ToolResult, textOf } from "../../src/protocol/index.ts";
import { createCast } from "../../src/testing/index.ts";
import { createMemoryTranscript } from "../../src/transcript/index.ts";
import { createLocalWorker, type LocalWorkerOptions } from "../../src/worker/index.ts";
import { cutAtStart } from "./cut-transcript.ts";
import { newPlace, type Parts, type Place, task } from "./delegation-place.ts";

type Recalled = ToolResult | "never begun" | "lost";
type CreateWorker = (options: LocalWorkerOptions) => WorkerPort;

async function walkOn(create: CreateWorker, parts: Parts, options: SessionOptions & { readonly at: Place }) {
  const { at, ...rest } = options;
  const model = createCast(parts);
  const environment = { PATH: process.env["PATH"], HOME: at.home };
  const session = await openSessionOn({ ...at, ...rest, model, environment }, create);
  const lines: Line[] = [];
  const run = session.prompt("MAIN: do it.");
  for await (const update of run) if ("id" in update) lines.push(update);
  await session.close();
  return { result: await run.result, model, lines };
}

/** Changes the executors and sessions of the local worker. */
function changed(
  change: (executor: ToolExecutor) => ToolExecutor,
  more: (session: WorkerSession) => Partial<WorkerSession> = () => ({}),
): CreateWorker {
  return (options) => {
    const local = createLocalWorker(options);
    const open: WorkerPort["open"] = async (request) => {
      const session = await local.open(request);
      const executor: WorkerSession["executor"] = (root) => change(session.executor(root));
      const serverExecutor: WorkerSession["serverExecutor"] = (id) => change(session.serverExecutor(id));
      return { ...session, executor, serverExecutor, ...more(session) };
    };
    return { ...local, open };
  };
}

const copy = <T>(value: T): T => (value === undefined ? value : JSON.parse(JSON.stringify(value)));

/** A worker whose requests and responses are sent as JSON, as they would be to another machine. */
const remote = changed(
  (executor) => ({
    ...executor,
    declarations: () => copy(executor.declarations()),
    judge: async (call, policy) => copy(await executor.judge(copy(call), copy(policy))),
    execute: async (request, emit, signal) => copy(await executor.execute(copy(request), emit, signal)),
  }),
  (session) => ({
    runHook: async (hook, signal) => copy(await session.runHook(copy(hook), signal)),
    connectServers: async (request, signal) => copy(await session.connectServers(copy(request), signal)),
    openWorktree: async (request) => copy(await session.openWorktree(copy(request))),
    leaveWorktree: async (agentId) => copy(await session.leaveWorktree(agentId)),
  }),
);

it("a session needs only plain data from its worker: tools, hooks and worktrees", async () => {
  const at = newPlace();
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.com", ...args], { cwd: at.cwd });
  git("init", "-q", "--template=");
  git("add", ".");
  git("commit", "-q", "-m", "first");
  const parts = {
    MAIN: [
      { calls: [{ name: "Edit", input: { file_path: "notes.txt", old_string: "beta", new_string: "gamma" } }] },
      { calls: [{ name: "Read", input: { file_path: "notes.txt" } }] },
      { calls: [{ name: "Edit", input: { file_path: "notes.txt", old_string: "beta", new_string: "gamma" } }] },
      { calls: [task("PART: change it.", { isolation: "worktree" })] },
      { text: "Done." },
    ],
    PART: [{ calls: [{ name: "Bash", input: { command: "echo delta > new.txt" } }] }, { text: "Changed." }],
  };
  const command = "jq -r .tool_name >> hooked.txt 2>/dev/null || echo called >> hooked.txt";
  const hooks = { PostToolUse: [{ matcher: "Edit", hooks: [{ type: "command", command }] }] };
  const { result, lines } = await walkOn(remote, parts, {
    at,
    settings: { hooks },
    permissionMode: "bypassPermissions",
  });
  expect(result.outcome).toBe("succeeded");
  const outcomes = lines.flatMap((line) => (line.type === "tool.ended" ? `${line.name} ${line.result.outcome}` : []));
  expect(outcomes).toEqual(["Edit error", "Read ok", "Edit ok", "Task ok"]);
  expect(readFileSync(join(at.cwd, "notes.txt"), "utf8")).toBe("alpha\ngamma\n");
  expect(readFileSync(join(at.cwd, "hooked.txt"), "utf8").split("\n")).toHaveLength(3);
  expect(git("branch", "--list", "retinue/*").toString()).toMatch(/retinue\/a/);
});

const write = { calls: [{ name: "Write", input: { file_path: "new.txt", content: "new\n" } }] };
const lost: Parts = { MAIN: [write, { text: "Written." }] };

it.each<[string, (known: ToolResult) => Recalled, object]>([
  ["a result", (known) => known, { outcome: "ok", facts: { filesChanged: [expect.stringContaining("new.txt")] } }],
  ["that it never began", () => "never begun", { outcome: "cancelled" }],
  ["that it is lost", () => "lost", { outcome: "unknown" }],
])("a resumed session asks its worker about a call whose result was not recorded, and records %s", async (...row) => {
  const [, answer, expected] = row;
  const at = newPlace();
  const memory = createMemoryTranscript();
  const kept = new Map<CallId, ToolResult>();
  const asked: CallId[] = [];
  const remembering = changed((executor) => ({
    ...executor,
    execute: async (request, emit, signal) => {
      const result = await executor.execute(request, emit, signal);
      kept.set(request.call.callId, result);
      return result;
    },
    recall: async ({ callId }) => {
      asked.push(callId);
      const known = kept.get(callId);
      return known === undefined ? "lost" : answer(known);
    },
  }));
  const mode = { at, permissionMode: "bypassPermissions" } as const;
  await walkOn(remembering, lost, { ...mode, transcript: memory });
  const transcript = await cutAtStart(memory);
  const parts = { MAIN: [{ text: "Continued." }] };
  const resumed = await walkOn(remembering, parts, { ...mode, transcript, resume: transcript.sessionId });
  expect(asked).toEqual([...kept.keys()]);
  const lines = await transcript.read("main");
  const ended = lines.find((line) => line.type === "tool.ended");
  expect(ended).toMatchObject({ result: expected });
  const recovered = lines.find((line) => line.type === "run.ended");
  const { outcome, content } = (ended as Extract<Line, { type: "tool.ended" }>).result;
  expect(recovered).toMatchObject({
    reason: "process_lost",
    facts: { unknown: outcome === "unknown" ? asked : [], filesChanged: outcome === "ok" ? [expect.any(String)] : [] },
  });
  const sent = resumed.model.requests("MAIN").at(-1);
  expect(JSON.stringify(sent)).toContain(textOf(content));
});
