import { execFileSync, fork } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openSessionOn } from "../../src/app/opening/open-session.ts";
import type { SessionOptions } from "../../src/app/opening/session-options.ts";
import { systemClock } from "../../src/app/system-clock.ts";
import { createDeferred } from "../../src/lib/index.ts";
import { createLocalWorker as overLink, serveWorker } from "../../src/link/worker-over-link.test-support.ts";
import type { SnapshotAnswer, ToolExecutor, WorkerPort, WorkerSession } from "../../src/ports/index.ts";
import { type CallId, type Line, type ToolResult, textOf } from "../../src/protocol/index.ts";
import { bundleProgram } from "../../src/testing/bundle-program.test-support.ts";
import { createCast } from "../../src/testing/index.ts";
import { createMemoryTranscript } from "../../src/transcript/index.ts";
import { createLocalWorker } from "../../src/worker/index.ts";
import { cutAtStart } from "./cut-transcript.ts";
import { lastWords, newPlace, type Parts, type Place, promised, read, resultsIn, task } from "./delegation-place.ts";
import { type CreateWorker, observeSession } from "./observe-session.ts";
import { changeFiles, expectProject, expectUntrusted, newProject, type Project } from "./project-walk.ts";
import type { Message, Report } from "./session-elsewhere.ts";

type Recalled = ToolResult | "never begun" | "lost";

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

const localOptions = { clock: systemClock, version: "0", report: () => undefined };

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
  const { result, lines } = await walkOn(overLink, parts, {
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

/** A worker on another machine, which does not see the session's files. */
const elsewhere: CreateWorker = (options) => {
  const port = overLink(options);
  const directory = join(dirname(options.root), "elsewhere/projects/p/s");
  return { ...port, open: (request) => port.open({ ...request, directory }) };
};

it.each<[string, CreateWorker]>([
  ["in this process", createLocalWorker],
  ["on another machine", elsewhere],
])("models read and search the session's texts by address, with a worker %s", async (_, create) => {
  const at = newPlace();
  const { promise: hasRead, keep: childHasRead } = promised();
  const { promise: finish, keep: finishChild } = promised();
  const open = (address: string, offset: number, pattern: string) => ({
    calls: [
      { name: "Read", input: { file_path: address, offset, limit: 20 } },
      { name: "Grep", input: { pattern, path: address, output_mode: "content" } },
    ],
  });
  const addressIn = (text = ""): string => /retinue:\/\/\w+\/[\w-]+/.exec(text)?.[0] ?? "";
  const parts: Parts = {
    MAIN: [
      { calls: [task("CHILD: look", { run_in_background: true })] },
      (messages) => ({ ...open(addressIn(resultsIn(messages)[0]), 1, "alpha|report"), after: hasRead }),
      { calls: [{ name: "Bash", input: { command: "seq 1 20000" } }] },
      (messages) => open(addressIn(resultsIn(messages)[0]), 9_990, "^1234\\d$"),
      () => {
        finishChild();
        return { text: "Meanwhile." };
      },
      (messages) => open(addressIn(lastWords(messages)), 1, "report"),
      { text: "Done." },
    ],
    CHILD: [{ calls: [read] }, { text: "The report.", after: finish }],
  };
  const model = createCast(parts);
  const environment = { PATH: process.env["PATH"], HOME: at.home };
  const session = await openSessionOn({ ...at, model, environment, permissionMode: "bypassPermissions" }, create);
  const run = session.prompt("MAIN: do it.");
  for await (const update of run) {
    if (update.type === "subagent.event" && update.event.type === "tool.ended") childHasRead();
  }
  expect(await run.result).toMatchObject({ outcome: "succeeded", text: "Done." });
  await session.close();

  const requests = model.requests("MAIN");
  const [output = "", inOutput = ""] = resultsIn(requests[2]);
  expect(output).toMatch(/^general-purpose a\w+: a piece of work\n\n> .*CHILD: look\n\nRead \(ok\)\n {2}1\talpha/s);
  expect(output).not.toContain("The report.");
  expect(inOutput).toMatch(/^retinue:\/\/output\/a\w+\n\d+: {2}1\talpha$/);
  const [bash = ""] = resultsIn(requests[3]);
  expect(bash).toMatch(/\[To see the full output \(106 KB\), open retinue:\/\/result\/\S+ with Read or Grep\.\]$/);
  expect(bash).not.toContain("\n10000\n");
  const [result = "", inResult = ""] = resultsIn(requests[4]);
  expect(result).toContain("\n10000\n10001\n");
  expect(inResult).toMatch(/^retinue:\/\/result\/\S+\n12340:12340\n.*12349:12349$/s);
  const [whole = "", inWhole = ""] = resultsIn(requests[6]);
  expect(whole).toMatch(/The report\.\n\n\[succeeded\]\n$/);
  expect(inWhole).toMatch(/:The report\.$/);
  // No path of the session's files was revealed.
  for (const place of [at.home, "elsewhere"]) expect(JSON.stringify(requests)).not.toContain(place);
});

it("a session needs only plain data from its worker: agents, skills, instructions, plugins, memory, changed files", async () => {
  const project = await newProject();
  const answers: SnapshotAnswer[] = [];
  const recording: CreateWorker = (options) => {
    const worker = overLink(options);
    return {
      ...worker,
      snapshot: async (request) => {
        const answer = await worker.snapshot(request);
        answers.push(answer);
        return answer;
      },
    };
  };
  const options = { ...project.options, trusted: true };
  expectProject(await observeSession(recording, options, (count) => changeFiles(project, count)));
  expect(readFileSync(join(project.root, "work/hooked.txt"), "utf8")).toBe("hooked\n");
  // A snapshot is sent only if the session does not have it.
  expect(answers.map(({ changed }) => changed)).toEqual([true, true, true, false]);
});

it("a session uses only the user's own files in a directory that is not trusted, over a link too", async () => {
  const { options } = await newProject();
  expectUntrusted(await observeSession(overLink, { ...options, trusted: false }, () => undefined));
});

it("a session can get its settings from its worker over a link: the project's agents, hooks and rules", async () => {
  const at = newPlace();
  const prompt = { description: "Writes verse. Use when asked.", prompt: "You rhyme." };
  const hook = { matcher: "Write", hooks: [{ type: "command", command: "echo hooked >> hooked.txt" }] };
  const project = {
    agents: { poet: prompt },
    hooks: { PostToolUse: [hook] },
    permissions: { allow: ["Write"], deny: ["Bash"] },
  };
  mkdirSync(join(at.cwd, ".retinue"));
  writeFileSync(join(at.cwd, ".retinue/settings.json"), JSON.stringify(project));
  const worker = overLink({
    ...localOptions,
    root: at.cwd,
    home: at.home,
    state: at.home,
    environment: { HOME: at.home },
  });
  const loaded = await worker.settings({ trust: true });
  const parts = {
    MAIN: [
      { calls: [write.calls[0]!, { name: "Bash", input: { command: "ls" } }] },
      { calls: [task("PART: rhyme.", { subagent_type: "poet" })] },
      { text: "Done." },
    ],
    PART: [{ text: "A rhyme." }],
  };
  const { settings, origins: settingsOrigins, rules, trusted } = loaded;
  const options = { at, settings, settingsOrigins, rules, trusted, catalogSettings: loaded };
  const { lines, model } = await walkOn(() => worker, parts, options);
  model.assertDone();
  const outcomes = lines.flatMap((line) => (line.type === "tool.ended" ? `${line.name} ${line.result.outcome}` : []));
  expect(outcomes.sort()).toEqual(["Bash denied", "Task ok", "Write ok"]);
  expect(readFileSync(join(at.cwd, "hooked.txt"), "utf8")).toBe("hooked\n");
});

/** Runs a session in another process, which refuses to use the project's files. The worker is in this process. */
async function observeElsewhere(project: Project, trusted: boolean): Promise<Report> {
  const program = bundleProgram(join(import.meta.dirname, "session-elsewhere.ts"));
  const options = { ...project.options, trusted };
  const { cwd: root = "", environment = {} } = options;
  const state = join(project.root, "state");
  const worker = createLocalWorker({ ...localOptions, root, home: state, state, environment });
  const child = fork(program, [], {
    env: { PATH: process.env["PATH"], TMPDIR: tmpdir(), RETINUE_TEST_HIDDEN: project.root },
  });
  onTestFinished(() => void child.kill());
  const report = createDeferred<Report>();
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  child.on("message", async (message: Message) => {
    if (message.kind === "listening")
      serveWorker({ url: message.url, name: "here", worker, signal: stop.signal }).catch(report.reject);
    if (message.kind === "observed") report.resolve(message.report);
    if (message.kind !== "between") return;
    await changeFiles(project, message.count);
    child.send("changed");
  });
  child.on("exit", (code) => report.reject(new Error(`The session's process exited with ${code}.`)));
  child.send(options);
  return report.promise;
}

it("a session works in a process that can't read the project's disk", async () => {
  const project = await newProject();
  const [trusted, untrusted] = await Promise.all([
    observeElsewhere(project, true),
    observeElsewhere(await newProject(), false),
  ]);
  expectProject(trusted);
  expectUntrusted(untrusted);
  expect([trusted.touched, untrusted.touched]).toEqual([[], []]);
  expect(readFileSync(join(project.root, "work/hooked.txt"), "utf8")).toBe("hooked\n");
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
