import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { openSessionOn } from "../../src/app/opening/open-session.ts";
import type { SessionOptions } from "../../src/app/opening/session-options.ts";
import type { RemoteWorker } from "../../src/link/index.ts";
import { startNetwork, startServer, startWorkerProcess } from "../../src/link/link.test-support.ts";
import { type Line, textOf } from "../../src/protocol/index.ts";
import { createCast } from "../../src/testing/index.ts";
import { type BuiltServer, buildMcpServer } from "../../src/testing/mcp-server/build-server.test-support.ts";
import { createMemoryTranscript } from "../../src/transcript/index.ts";
import { cutAtStart } from "./cut-transcript.ts";
import { newPlace, type Parts, type Place, read, resultsIn, task } from "./delegation-place.ts";

let mcp: BuiltServer;
beforeAll(() => {
  mcp = buildMcpServer();
});
afterAll(() => mcp.remove());

/** Starts a server, a network that can fail, and a worker in a separate process. */
async function connect({ cwd, home }: Place, { graceMs = 10_000 } = {}) {
  const server = await startServer({ graceMs });
  const network = await startNetwork(server.port);
  const connected = server.next("connected");
  await startWorkerProcess({ url: network.url, root: cwd, home, ledgerDirectory: join(home, "ledger") });
  return { server, network, remote: await connected };
}

type Options = SessionOptions & { readonly at: Place; readonly remote: RemoteWorker };

function open(parts: Parts, { at, remote, ...rest }: Options) {
  const model = createCast(parts);
  const environment = { PATH: process.env["PATH"], HOME: at.home };
  const options: SessionOptions = { permissionMode: "bypassPermissions", ...at, ...rest, model, environment };
  return openSessionOn(options, () => remote).then((session) => ({ session, model }));
}

it("an MCP server from the worker's machine never gets the environment variables of the server's machine", async () => {
  const at = newPlace();
  const { remote } = await connect(at);
  const received: string[] = [];
  const listener = createServer((request, response) => {
    received.push(JSON.stringify(request.headers));
    response.writeHead(404).end();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void listener.close());
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const variable = (name: string) => `\${${name}}`;
  const entry = (name: string) => ({ url: `http://127.0.0.1:${port}/mcp`, headers: { "x-token": variable(name) } });
  const session = await openSessionOn(
    {
      ...at,
      model: createCast({}),
      environment: { PATH: process.env["PATH"], HOME: at.home, SERVER_KEY: "server-secret" },
      settings: { mcpServers: { leak: entry("SERVER_KEY"), fine: entry("PATH") } },
    },
    () => remote,
  );
  const notices = session.notices.join("\n");
  await session.close();
  expect(notices).toContain("environment variables that are not set: SERVER_KEY");
  expect(received.length).toBeGreaterThan(0);
  expect(received.join()).not.toContain("server-secret");
});

it("rewinding restores the bytes of a file that is not UTF-8", async () => {
  const at = newPlace();
  const file = join(at.cwd, "notes.txt");
  const latin1 = Buffer.from("caf\u00e9\n", "latin1");
  writeFileSync(file, latin1);
  const { remote } = await connect(at);
  const write = { name: "Write", input: { file_path: "notes.txt", content: "new" } };
  const { session } = await open({ MAIN: [{ calls: [read] }, { calls: [write] }, { text: "Done." }] }, { at, remote });
  await session.prompt("MAIN: go").result;
  expect(readFileSync(file, "utf8")).toBe("new");
  const [first] = await session.prompts();
  expect(await session.rewind(first?.id ?? "")).toMatchObject({ restored: ["notes.txt"], kept: [] });
  await session.close();
  expect(readFileSync(file).equals(latin1)).toBe(true);
});

it("a session works on a worker in another process: tools, hooks, MCP servers, worktrees, acceptance", async () => {
  const at = newPlace();
  const git = (...words: string[]) =>
    execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.com", ...words], { cwd: at.cwd });
  git("init", "-q", "--template=");
  git("add", ".");
  git("commit", "-q", "-m", "first");
  const { remote } = await connect(at);
  const edit = { name: "Edit", input: { file_path: "notes.txt", old_string: "beta", new_string: "gamma" } };
  const bash = { name: "Bash", input: { command: "cat notes.txt; echo $PPID > parent.txt" } };
  const { session, model } = await open(
    {
      MAIN: [
        { calls: [read] },
        { calls: [edit] },
        { calls: [bash] },
        { calls: [{ name: "mcp__notes__echo", input: { text: "over the wire" } }] },
        { calls: [task("PART: change it.", { isolation: "worktree" })] },
        { text: "Done." },
      ],
      PART: [{ calls: [{ name: "Bash", input: { command: "echo delta > new.txt; pwd" } }] }, { text: "Changed." }],
    },
    {
      at,
      remote,
      settings: {
        hooks: {
          PostToolUse: [{ matcher: "Edit", hooks: [{ type: "command", command: "echo called >> hooked.txt" }] }],
        },
        mcpServers: { notes: mcp.config() },
        sandbox: "off",
      },
      acceptance: ["grep -q gamma notes.txt"],
    },
  );
  const lines: Line[] = [];
  const run = session.prompt("MAIN: do it.");
  for await (const update of run) if ("id" in update) lines.push(update);
  const result = await run.result;
  await session.close();
  expect(result.outcome).toBe("succeeded");
  expect(result.acceptance).toMatchObject({ ok: true });
  const outcomes = lines.flatMap((line) => (line.type === "tool.ended" ? `${line.name} ${line.result.outcome}` : []));
  expect(outcomes).toEqual(["Read ok", "Edit ok", "Bash ok", "mcp__notes__echo ok", "Task ok"]);
  expect(resultsIn(model.requests("MAIN")[4])).toEqual(["over the wire"]);
  expect(readFileSync(join(at.cwd, "notes.txt"), "utf8")).toBe("alpha\ngamma\n");
  expect(readFileSync(join(at.cwd, "hooked.txt"), "utf8")).toBe("called\n");
  expect(Number(readFileSync(join(at.cwd, "parent.txt"), "utf8"))).not.toBe(process.pid);
  expect(git("branch", "--list", "retinue/*").toString()).toMatch(/retinue\/a/);
});

const waits = "echo mark >> marks; until [ -e go ]; do sleep 0.01; done; echo finished";
const bashWaits = { calls: [{ name: "Bash", input: { command: waits } }] };

async function begun({ cwd }: Place): Promise<void> {
  while (!existsSync(join(cwd, "marks"))) await new Promise((resolve) => setTimeout(resolve, 10));
}

it("a session that is resumed on another server gets the result of the call that was running", async () => {
  const at = newPlace();
  const { network, remote } = await connect(at, { graceMs: 100 });
  const memory = createMemoryTranscript();
  const first = await open({ MAIN: [bashWaits, { text: "Written." }] }, { at, remote, transcript: memory });
  const run = first.session.prompt("MAIN: do it.").result;
  await begun(at);
  const transcript = await cutAtStart(memory);
  const successor = await startServer();
  const connected = successor.next("connected");
  network.target = successor.port;
  network.cut();
  const same = await connected;
  const parts = { MAIN: [{ text: "Continued." }] };
  const resuming = open(parts, { at, remote: same, transcript, resume: transcript.sessionId });
  // The first server has given up, and has recorded the outcome as unknown.
  expect((await run).facts.unknown).toHaveLength(1);
  writeFileSync(join(at.cwd, "go"), "");
  const second = await resuming;
  const ended = (await transcript.read("main")).find((line) => line.type === "tool.ended");
  expect(ended).toMatchObject({ result: { outcome: "ok" } });
  expect(textOf(ended?.type === "tool.ended" ? ended.result.content : [])).toContain("finished");
  expect(readFileSync(join(at.cwd, "marks"), "utf8")).toBe("mark\n");
  await first.session.close();
  await second.session.close();
});

it("a session is parked when its worker is lost, and continues when the worker has returned", async () => {
  const at = newPlace();
  const { network, remote, server } = await connect(at, { graceMs: 100 });
  const memory = createMemoryTranscript();
  const { session } = await open({ MAIN: [bashWaits] }, { at, remote, transcript: memory });
  const stop = server.hub.onChange((_, change) => void (change === "lost" && session.park()));
  const run = session.prompt("MAIN: do it.").result;
  await begun(at);
  network.isDown = true;
  network.cut();
  expect(await run).toMatchObject({ reason: "parked", facts: { unknown: [] } });
  await session.park();
  stop();
  // The command ends while no server is connected to the worker.
  writeFileSync(join(at.cwd, "go"), "");
  const ledger = join(at.home, "ledger", `${memory.sessionId}.jsonl`);
  await expect.poll(() => readFileSync(ledger, "utf8")).toContain('"ended"');
  const returned = server.next("returned");
  network.isDown = false;
  await returned;
  const transcript = createMemoryTranscript({ sessionId: memory.sessionId });
  for (const { v: _, id: _id, parentId: _parent, at: _at, seq: _seq, ...event } of await memory.read("main")) {
    const head = event.type === "head.set" ? await memory.loadHead(event.hash) : undefined;
    if (head) await transcript.saveHead(head);
    await transcript.append("main", [event]);
  }
  const parts = { MAIN: [{ calls: [read] }, { text: "Continued." }] };
  const again = await open(parts, { at, remote, transcript, resume: transcript.sessionId });
  const result = await again.session.prompt("").result;
  expect(result).toMatchObject({ outcome: "succeeded", text: "Continued." });
  const ended = (await transcript.read("main")).find((line) => line.type === "tool.ended");
  expect(ended).toMatchObject({ result: { outcome: "ok" } });
  expect(readFileSync(join(at.cwd, "marks"), "utf8")).toBe("mark\n");
  await again.session.close();
  expect(existsSync(ledger)).toBe(false);
});
