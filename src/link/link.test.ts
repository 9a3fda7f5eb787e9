import { once, setMaxListeners } from "node:events";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, watch, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { systemClock } from "../app/index.ts";
import type { WorkerPort, WorkerSession } from "../ports/index.ts";
import { type ToolResult, textOf } from "../protocol/index.ts";
import { openConnection } from "./connection.ts";
import {
  everything,
  localWorker,
  newPlace,
  openOn,
  startNetwork,
  startServer,
  startWorker,
  startWorkerProcess,
  type TestPlace,
  testSession,
  toolCall,
} from "./link.test-support.ts";
import { createSessionFiles, type SessionFiles } from "./session-files.ts";

const never = new AbortController().signal;
setMaxListeners(0, never);

/** Resolves when a file exists. */
async function appears(path: string, directory: string): Promise<void> {
  const watcher = watch(directory);
  try {
    await new Promise<void>((resolve) => {
      const look = () => existsSync(path) && resolve();
      watcher.on("change", look);
      look();
    });
  } finally {
    watcher.close();
  }
}

/** Connects a worker in this process to a server, through a network that can fail. */
async function connectAt(
  at: TestPlace,
  { graceMs = 10_000, files }: { readonly graceMs?: number; readonly files?: SessionFiles } = {},
) {
  const server = await startServer({ graceMs });
  const network = await startNetwork(server.port);
  const connected = server.next("connected");
  const worker = startWorker({ url: network.url, at, files });
  return { server, network, worker, remote: await connected };
}

function run(session: WorkerSession, at: TestPlace, call: ReturnType<typeof toolCall>, signal = never) {
  return session.executor(at.root).execute({ agentId: "main", call, policy: everything }, () => {}, signal);
}

/** A command that adds a line to the file `marks` when it begins, and ends when the file `go` exists. */
const waits = { command: "echo mark >> marks; until [ -e go ]; do sleep 0.01; done; echo finished" };
const marks = ({ root }: TestPlace) => readFileSync(join(root, "marks"), "utf8");
const go = ({ root }: TestPlace) => writeFileSync(join(root, "go"), "");
const begun = ({ root }: TestPlace) => appears(join(root, "marks"), root);
const textIn = ({ outcome, content }: ToolResult) => `${outcome}: ${textOf(content)}`;

describe("a session on a worker", () => {
  it("has the worker's tools and performs calls on the worker", async () => {
    const at = newPlace();
    const { remote } = await connectAt(at);
    expect(remote.describe()).toEqual(localWorker(at).describe());
    const session = await openOn(remote);
    const local = (await openOn(localWorker(at), { sessionId: "local" })).executor(at.root);
    const executor = session.executor(at.root);
    expect(executor.declarations()).toEqual(local.declarations());
    expect(executor.traits("write_file")).toEqual(local.traits("Write"));
    const call = toolCall("c1", "Write", { file_path: "a.txt", content: "one\n" });
    expect(await executor.judge(call, everything)).toEqual(await local.judge(call, everything));
    const heard: string[] = [];
    const request = { agentId: "main", call, policy: everything };
    expect(await executor.execute(request, () => {}, never)).toMatchObject({ outcome: "ok" });
    expect(readFileSync(join(at.root, "a.txt"), "utf8")).toBe("one\n");
    const bash = { ...request, call: toolCall("c2", "Bash", { command: "echo early; sleep 0.3; echo late" }) };
    const result = await executor.execute(bash, (text) => heard.push(text), never);
    expect(textIn(result)).toContain("early\nlate");
    expect(await session.environment.git(at.root)).toBeUndefined();
    expect(await session.runHook({ command: "cat", agentId: "main", stdin: "hi", seconds: 5 }, never)).toMatchObject({
      stdout: "hi",
    });
    await session.close();
    expect(readdirSync(at.ledgerDirectory)).toEqual(["id", "lock"]);
  });

  it("gets one result for a call whose connection is cut, and the call takes effect once", async () => {
    const at = newPlace();
    const { network, remote, server } = await connectAt(at);
    const session = await openOn(remote);
    const result = run(session, at, toolCall("c1", "Bash", waits));
    await begun(at);
    const again = server.next("connected");
    network.cut();
    await again;
    go(at);
    expect(textIn(await result)).toContain("ok: finished");
    expect(marks(at)).toBe("mark\n");
    expect(await session.executor(at.root).recall?.(toolCall("c1", "Bash", waits))).toMatchObject({ outcome: "ok" });
    expect(await session.executor(at.root).recall?.(toolCall("c9", "Bash", waits))).toBe("lost");
  });

  it("ends a call on the worker when it is cancelled, even if the connection is cut at that moment", async () => {
    const at = newPlace();
    const { network, remote } = await connectAt(at);
    const session = await openOn(remote);
    for (const isCut of [false, true]) {
      const abort = new AbortController();
      const result = run(session, at, toolCall(`c${isCut}`, "Bash", waits), abort.signal);
      await begun(at);
      if (isCut) network.cut();
      abort.abort();
      expect((await result).outcome).toBe("cancelled");
    }
  });

  it("reports an unknown outcome if the worker does not return, and fails immediately from then on", async () => {
    const at = newPlace();
    const { network, server, remote } = await connectAt(at, { graceMs: 50 });
    const session = await openOn(remote);
    const result = run(session, at, toolCall("c1", "Bash", waits));
    await begun(at);
    const lost = server.next("lost");
    network.isDown = true;
    network.cut();
    await lost;
    expect(textIn(await result)).toMatch(/^unknown: Outcome unknown.*no longer connected.*Check before/);
    expect(remote.state).toBe("lost");
    expect((await run(session, at, toolCall("c2", "Bash", waits))).outcome).toBe("unknown");
    const judged = session.executor(at.root).judge(toolCall("c3", "Bash", waits), everything);
    expect(await judged).toMatchObject({ kind: "invalid", message: expect.stringContaining("no longer connected") });
    await expect(remote.sweep(testSession)).rejects.toThrow('The worker "box" is no longer connected');
    await session.close();
    const returned = server.next("returned");
    network.isDown = false;
    await returned;
    const reopened = await openOn(remote, { sessionId: "s2" });
    expect(await run(reopened, at, toolCall("c4", "Bash", { command: "echo here" }))).toMatchObject({ outcome: "ok" });
    expect((await run(session, at, toolCall("c2", "Bash", waits))).outcome).toBe("unknown");
    expect(marks(at)).toBe("mark\n");
  });

  it("keeps its calls running when another server opens it, and refuses the older server", async () => {
    const at = newPlace();
    const { network, remote, server } = await connectAt(at);
    const session = await openOn(remote);
    const call = toolCall("c1", "Bash", waits);
    const first = run(session, at, call);
    await begun(at);
    const successor = await startServer();
    const connected = successor.next("connected");
    network.target = successor.port;
    network.cut();
    const same = await connected;
    await same.sweep(testSession);
    const reopened = await openOn(same);
    const recalled = reopened.executor(at.root).recall?.(call);
    go(at);
    expect(textIn((await recalled) as ToolResult)).toContain("finished");
    expect(await reopened.executor(at.root).recall?.(toolCall("c2", "Bash", waits))).toBe("never begun");
    expect(marks(at)).toBe("mark\n");
    const back = server.next("connected");
    network.target = server.port;
    network.cut();
    await back;
    expect(textIn(await first)).toContain(`Another server has opened session ${testSession}`);
    expect(textIn(await run(session, at, toolCall("c3", "Bash", waits)))).toContain("Another server");
    expect(marks(at)).toBe("mark\n");
  });

  it("ends its calls when it is opened with other options, and says so", async () => {
    const at = newPlace();
    const { remote } = await connectAt(at);
    const session = await openOn(remote);
    const call = toolCall("c1", "Bash", waits);
    const first = run(session, at, call);
    await begun(at);
    const reopened = await openOn(remote, { passedVariables: ["EDITOR"] });
    expect((await first).outcome).toBe("cancelled");
    expect(await reopened.executor(at.root).recall?.(call)).toMatchObject({ outcome: "cancelled" });
    const other = toolCall("c2", "Bash", { command: "echo here" });
    expect(textIn(await run(session, at, other))).toContain(`Another server has opened session ${testSession}`);
    expect(textIn(await run(reopened, at, other))).toContain("ok: here");
  });

  it("sends long results to the server in parts, from memory and from files", async () => {
    const at = newPlace();
    const server = await startServer();
    const network = await startNetwork(server.port);
    const long = `${"0123456789é😀".repeat(1_000_000)}.`;
    const file = join(at.root, "long.txt");
    writeFileSync(file, long);
    const connected = server.next("connected");
    const local = localWorker(at);
    /** Opens sessions in which every call saves a long text and a long file. */
    const open: WorkerPort["open"] = async (options) => {
      const session = await local.open(options);
      const execute = async () => {
        const addresses = [await options.results.save("c1", long), await options.results.saveFile("c2", file)];
        return { outcome: "ok" as const, content: [{ type: "text" as const, text: addresses.join(" ") }] };
      };
      return { ...session, executor: (root) => ({ ...session.executor(root), execute }) };
    };
    startWorker({ url: network.url, at, worker: { ...local, open } });
    const remote = await connected;
    const saved = new Map<string, string>();
    const save = async (id: string, content: string | Uint8Array) => {
      saved.set(id, Buffer.from(content as string).toString("utf8"));
      return `retinue://result/${id}`;
    };
    const session = await openOn(remote, { results: { save, saveFile: () => Promise.reject(new Error("Not here.")) } });
    const result = run(session, at, toolCall("c1", "Read", {}));
    setTimeout(network.cut, 20);
    expect(textIn(await result)).toBe("ok: retinue://result/c1 retinue://result/c2");
    expect([...saved.keys()]).toEqual(["c1", "c2"]);
    for (const text of saved.values()) expect(text === long).toBe(true);
  });

  it("explains that a message is too large to be sent", async () => {
    const at = newPlace();
    const { remote } = await connectAt(at);
    const session = await openOn(remote);
    const content = "x".repeat(33 * 1_024 * 1_024);
    const result = await run(session, at, toolCall("c1", "Write", { file_path: "a.txt", content }));
    expect(textIn(result)).toMatch(/^error: Write failed: .*at most 32\.0 MB can be sent/);
    expect(existsSync(join(at.root, "a.txt"))).toBe(false);
  });

  it("performs each call at most once, whenever the connection is cut", async () => {
    const at = newPlace();
    const { network, remote } = await connectAt(at);
    const session = await openOn(remote);
    const executor = session.executor(at.root);
    let isDone = false;
    const cutting = (async () => {
      for (let seed = 7; !isDone; seed = (seed * 48_271) % 2_147_483_647) {
        await new Promise((resolve) => setTimeout(resolve, 20 + (seed % 150)));
        network.cut();
      }
    })();
    const agent = async (agentId: string) => {
      for (let index = 0; index < 5; index += 1) {
        const call = toolCall(`${agentId}_${index}`, "Bash", { command: `echo ${agentId}_${index} >> effects` });
        await executor.judge(call, everything);
        const { outcome } = await executor.execute({ agentId, call, policy: everything }, () => {}, never);
        expect(outcome).toBe("ok");
      }
    };
    const agents = ["a1", "a2", "a3", "a4"];
    await Promise.all(agents.map(agent));
    isDone = true;
    await cutting;
    const effects = readFileSync(join(at.root, "effects"), "utf8").trim().split("\n");
    expect(effects.toSorted()).toEqual(
      agents.flatMap((id) => Array.from({ length: 5 }, (_, index) => `${id}_${index}`)).toSorted(),
    );
  });
});

describe("the files of a session on a worker", () => {
  const month = 31 * 24 * 3_600_000;

  it("are deleted when the session is deleted, but not while it is open", async () => {
    const at = newPlace();
    const files = createSessionFiles(at.home, "box");
    const { remote } = await connectAt(at, { files });
    const session = await openOn(remote);
    const kept = join(at.home, `box@${testSession}`);
    await remote.forget(testSession);
    expect(existsSync(kept)).toBe(true);
    await session.close();
    expect(existsSync(kept)).toBe(true);
    await remote.forget(testSession);
    expect(existsSync(kept)).toBe(false);
    await expect(remote.forget("../work")).rejects.toThrow("is not a valid session id");
  });

  it("are deleted when the session has not been opened for 30 days", async () => {
    const at = newPlace();
    for (const name of ["box@old", "box@new", "other@old"]) mkdirSync(join(at.home, name), { recursive: true });
    mkdirSync(at.ledgerDirectory, { recursive: true });
    for (const name of ["old.jsonl", "new.jsonl"]) writeFileSync(join(at.ledgerDirectory, name), "");
    const past = new Date(Date.now() - month);
    for (const path of [join(at.home, "box@old"), join(at.home, "other@old"), join(at.ledgerDirectory, "old.jsonl")])
      utimesSync(path, past, past);
    await connectAt(at, { files: createSessionFiles(at.home, "box") });
    expect(readdirSync(at.home).sort()).toEqual(["box@new", "other@old"]);
    expect(readdirSync(at.ledgerDirectory).sort()).toEqual(["id", "lock", "new.jsonl"]);
  });
});

describe("a worker that is killed", () => {
  it("leaves the outcome of a running call unknown, and the result of a finished call in its ledger", async () => {
    const at = newPlace();
    const server = await startServer();
    const network = await startNetwork(server.port);
    const connected = server.next("connected");
    const first = await startWorkerProcess({ url: network.url, ...at });
    const remote = await connected;
    const { instance } = remote;
    const session = await openOn(remote);
    const running = run(session, at, toolCall("c1", "Bash", waits));
    await begun(at);
    network.hold();
    const ended = run(session, at, toolCall("c2", "Bash", { command: "echo ended > ended" }));
    await appears(join(at.root, "ended"), at.root);
    const ledger = join(at.ledgerDirectory, `${testSession}.jsonl`);
    await waitForText(ledger, '"ended"');
    await first.kill();
    const returned = server.next("returned");
    await startWorkerProcess({ url: network.url, ...at });
    expect((await returned).instance).not.toBe(instance);
    expect(textIn(await running)).toMatch(/^unknown: Outcome unknown/);
    expect((await ended).outcome).toBe("ok");
    const reopened = await openOn(remote);
    const executor = reopened.executor(at.root);
    expect(await executor.recall?.(toolCall("c1", "Bash", {}))).toBe("lost");
    expect(await executor.recall?.(toolCall("c2", "Bash", {}))).toMatchObject({ outcome: "ok" });
    expect(await executor.recall?.(toolCall("c3", "Bash", {}))).toBe("never begun");
    expect(marks(at)).toBe("mark\n");
  });
});

async function waitForText(path: string, text: string): Promise<void> {
  while (!existsSync(path) || !readFileSync(path, "utf8").includes(text))
    await new Promise((resolve) => setTimeout(resolve, 10));
}

describe("a server", () => {
  it("keeps two workers apart, and refuses a third one with the same name as one of them", async () => {
    const [one, other, third] = [newPlace(), newPlace(), newPlace()];
    const { server, network, remote } = await connectAt(one);
    const second = server.next("connected", "shed");
    startWorker({ url: network.url, at: other, name: "shed" });
    const shed = await second;
    expect(server.hub.workers()).toEqual([remote, shed]);
    for (const [worker, at] of [
      [remote, one],
      [shed, other],
    ] as const) {
      const session = await openOn(worker);
      await run(session, at, toolCall("c1", "Write", { file_path: "name", content: worker.name }));
      expect(readFileSync(join(at.root, "name"), "utf8")).toBe(worker.name);
    }
    await expect(startWorker({ url: network.url, at: third }).ended).rejects.toMatchObject({
      message: `A worker named "box" is already connected for ${one.root}`,
      fix: "Choose another name with --name.",
      exitCode: 2,
    });
    await expect(startWorker({ url: network.url, at: one }).ended).rejects.toThrow(/already running .*\(process/);
  });

  it("uses the newest process of a worker, and the older one ends", async () => {
    const at = newPlace();
    const { server, network, worker, remote } = await connectAt(at);
    const { instance } = remote;
    const returned = server.next("returned");
    const copied = `${at.ledgerDirectory}-2`;
    cpSync(at.ledgerDirectory, copied, { recursive: true, filter: (path) => !path.endsWith("lock") });
    startWorker({ url: network.url, at: { ...at, ledgerDirectory: copied } });
    expect((await returned).instance).not.toBe(instance);
    await expect(worker.ended).rejects.toThrow('Another process has connected as worker "box"');
  });

  it("refuses a worker with another version, says which side to upgrade, and ignores a hello on a closed connection", async () => {
    const { hub, port } = await startServer();
    const hello = async (protocol: object) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/worker`, { headers: { authorization: "Bearer secret" } });
      await once(socket, "open");
      const handlers = { request: async () => undefined, notification: () => {} };
      const connection = openConnection(socket, { clock: systemClock, handlers });
      const facts = { root: "/w", platform: "linux" };
      const who = {
        name: "box",
        machine: "m",
        ledger: "l",
        instance: "i",
        connection: 1,
        version: "9.0.0",
        facts,
        sessions: [],
      };
      const answer = connection.request("hello", { ...who, protocol });
      return { answer, connection };
    };
    const newer = await hello({ oldest: 7, newest: 8 });
    await expect(newer.answer).rejects.toMatchObject({
      message: "The server has version 1.0.0 of Retinue and can't work with a worker that has version 9.0.0",
      fix: "Upgrade the server to version 9.0.0, or install version 1.0.0 on the worker.",
    });
    const older = await hello({ oldest: 0, newest: 0 });
    await expect(older.answer).rejects.toMatchObject({ fix: "Upgrade the worker to version 1.0.0." });
    const closed = await hello({ oldest: 1, newest: 1 });
    closed.connection.close(1000);
    await expect(closed.answer).rejects.toThrow();
    expect(hub.workers().filter(({ state }) => state === "connected")).toEqual([]);
    const good = await hello({ oldest: 1, newest: 3 });
    expect(await good.answer).toEqual({ protocol: 1, closed: [] });
    await expect(good.connection.request("hello", {})).rejects.toThrow("Unknown request hello");
  });

  it("that reads a greeting too late does not conclude that the worker was stopped", async () => {
    const silent = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    onTestFinished(() => silent.close());
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const worker = startWorker({ at: newPlace(), url: `http://127.0.0.1:${port}`, handshakeMs: 1_000 });
    const [first] = (await once(silent, "connection")) as [WebSocket];
    const [[greeting], [code]] = await Promise.all([once(first, "message"), once(first, "close")]);
    // The worker tries to connect again.
    await once(silent, "connection");
    await worker.stop();

    const server = await startServer();
    const late = new WebSocket(`ws://127.0.0.1:${server.port}`, { headers: { authorization: "Bearer secret" } });
    await once(late, "open");
    const changed = Promise.race([server.next("lost"), server.next("reconnecting")]);
    late.send(String(greeting));
    late.close(code);
    expect((await changed).state).toBe("reconnecting");
  });

  it("closes the connection to a silent worker, and the worker connects again", async () => {
    const at = newPlace();
    const server = await startServer({ pingMs: 20, silenceMs: 60 });
    const network = await startNetwork(server.port);
    const connected = server.next("connected");
    startWorker({ url: network.url, at });
    const remote = await connected;
    const changes = [server.next("reconnecting"), server.next("connected")];
    network.hold();
    await Promise.all(changes);
    await remote.sweep(testSession);
  });

  it("refuses a wrong token and an unencrypted connection to another machine", async () => {
    const at = newPlace();
    const { port } = await startServer();
    const url = `http://127.0.0.1:${port}`;
    await expect(startWorker({ url, at, token: "wrong" }).ended).rejects.toMatchObject({
      message: `${url} refused the token`,
      exitCode: 2,
    });
    const far = startWorker({ url: "http://192.0.2.1", at }).ended;
    await expect(far).rejects.toThrow("would not be encrypted");
    await expect(startWorker({ url: "ftp://x", at }).ended).rejects.toThrow("does not begin with https://");
  });

  it("that is not running is retried until the worker is stopped", async () => {
    const at = newPlace();
    const server = await startServer();
    const network = await startNetwork(server.port);
    network.isDown = true;
    const worker = startWorker({ url: network.url, at });
    const hasSaid = async (count: number) => {
      while (worker.said.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
    };
    await hasSaid(1);
    network.isDown = false;
    await hasSaid(2);
    network.cut();
    await hasSaid(4);
    await worker.stop();
    expect(worker.said).toEqual([
      expect.stringMatching(/can't be reached: .*\. Trying again until you stop this worker\./),
      `Connected to ${network.url} as worker "box" for ${at.root}.`,
      `The connection to ${network.url} was lost. Reconnecting.`,
      `Reconnected to ${network.url}.`,
    ]);
  });
});
