import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import type { Line, Settings } from "../../src/protocol/index.ts";
import { createTrustStore } from "../../src/settings/index.ts";
import type { RecordedRequest, Reply } from "../../src/testing/index.ts";
import { createPlace, type Place, retinue, serve, startRetinue } from "../cli/command-line.ts";
import { type ServeProcess, serveProcess } from "./serve-process.ts";

/**
 * Plays the model. An agent runs a command that adds a line to a file and then waits until the test lets it continue.
 */
function script({ rawBody }: RecordedRequest): Reply {
  const text = rawBody.toString();
  const results = text.split('"type":"tool_result"').length - 1;
  const task = { description: "a part", prompt: "PART: do it", subagent_type: "helper" };
  if (text.includes("MAIN: go")) return { content: results === 0 ? [{ tool: "Task", input: task }] : "All done." };
  const commands = ["echo mark >> marks; until [ -e go ]; do sleep 0.05; done; echo went", "cat own.txt"];
  const command = commands[results];
  return { content: command === undefined ? "Part done." : [{ tool: "Bash", input: { command } }] };
}

/** A directory on another machine. The user there trusts it and has defined an agent. */
async function otherMachine(): Promise<Place> {
  const place = createPlace();
  mkdirSync(join(place.cwd, ".agents/agents"), { recursive: true });
  writeFileSync(
    join(place.cwd, ".agents/agents/helper.md"),
    "---\nname: helper\ndescription: Does a part. Use it for parts.\n---\nDo the part.\n",
  );
  writeFileSync(join(place.cwd, "own.txt"), "a file of the worker\n");
  mkdirSync(place.home, { recursive: true });
  writeFileSync(
    join(place.home, "settings.json"),
    JSON.stringify({ permissions: { allow: ["Bash"] }, sandbox: "off" }),
  );
  await createTrustStore({ stateHome: place.home }).add(place.cwd);
  return place;
}

/** Starts a server with these settings, and a worker on another machine. */
async function connected(settings: Settings = {}) {
  const api = await serve(script);
  const here = createPlace();
  mkdirSync(here.home, { mode: 0o700 });
  writeFileSync(join(here.home, "settings.json"), JSON.stringify(settings));
  const there = await otherMachine();
  const server = await serveProcess({ ...here, server: api });
  /** Starts a server again at the same address. */
  const start = () => serveProcess({ ...here, server: api }, ["--port", new URL(server.url).port]);
  const worker = startWorker(there, server, here.home);
  await hasWorker(server, "connected");
  return { api, here, there, server, worker, start };
}

/** Starts a session on a worker. The session's agent runs a command that waits. */
async function working() {
  const place = await connected();
  const created = await place.server.send("POST", "/session", { prompt: "MAIN: go", worker: "box" });
  expect(created, created.text).toMatchObject({ status: 201, json: { worker: "box", cwd: place.there.cwd } });
  await fileAppears(join(place.there.cwd, "marks"));
  return { ...place, id: (created.json as { id: string }).id };
}

function startWorker(place: Place, { url }: ServeProcess, serverHome: string) {
  const token = readFileSync(join(serverHome, "worker-token"), "utf8").trim();
  const words = ["worker", "--server", url, "--name", "box"];
  return startRetinue(words, { ...place, environment: { RETINUE_TOKEN: token } });
}

async function hasWorker(server: ServeProcess, state: string): Promise<void> {
  await expect
    .poll(async () => (await server.send("GET", "/worker")).json, { timeout: 30_000 })
    .toContainEqual(expect.objectContaining({ name: "box", state }));
}

/** Directories with sessions' files on the worker's machine. */
function sessionFiles({ home }: Place): readonly string[] {
  const names = readdirSync(join(home, "workers"), { recursive: true }).map((name) => basename(String(name)));
  return names.filter((name) => name.startsWith("box@"));
}

const fileAppears = (path: string) => expect.poll(() => existsSync(path)).toBe(true);

it.each(["the server is killed", "the worker is killed"])(
  "a session on a remote worker does its work exactly once, even if %s",
  async (what) => {
    const place = await working();
    const { here, there, id } = place;
    let { server, worker } = place;
    expect((await server.send("GET", "/agent?worker=box")).json).toMatchObject({
      agents: expect.arrayContaining([expect.objectContaining({ name: "helper" })]),
    });
    expect(existsSync(join(here.cwd, "marks"))).toBe(false);

    if (what === "the server is killed") {
      await server.end("SIGKILL");
      server = await place.start();
      await hasWorker(server, "connected");
    }
    if (what === "the worker is killed") {
      worker.kill("SIGKILL");
      worker = startWorker(there, server, here.home);
      await hasWorker(server, "connected");
    }
    writeFileSync(join(there.cwd, "go"), "");
    await expect
      .poll(async () => (await server.send("GET", `/session/${id}`)).json, { timeout: 40_000 })
      .toMatchObject({ state: expect.stringMatching(/idle|ended/), outcome: "succeeded" });
    expect(readFileSync(join(there.cwd, "marks"), "utf8")).toBe("mark\n");
    const agents = (await server.send("GET", `/session/${id}/agent`)).json as { agentId: string }[];
    const lines = await server.send("GET", `/session/${id}/agent/${agents.at(-1)?.agentId}/line`);
    expect(lines.text).toContain("a file of the worker");
    const outcomes = [...lines.text.matchAll(/"outcome":"(ok|unknown)","content"/g)].map(([, outcome]) => outcome);
    expect(outcomes).toEqual([what === "the worker is killed" ? "unknown" : "ok", "ok"]);
    if (what === "the worker is killed")
      expect(server.messages()).toMatch(
        /The worker box is no longer connected.*\n.*The worker box is connected again\./,
      );
    expect(sessionFiles(there)).toEqual([`box@${id}`]);
    expect((await server.send("DELETE", `/session/${id}`)).status).toBe(204);
    await expect.poll(() => sessionFiles(there)).toEqual([]);
    expect(await server.end("SIGTERM")).toBe(0);
  },
  120_000,
);

it("the compact profile in the server's settings applies on a worker, to the agents and to their list", async () => {
  const { server, there } = await connected({ profile: "compact" });
  writeFileSync(join(there.cwd, "go"), "");
  const { json } = await server.send("GET", "/agent?worker=box");
  const { agents } = json as { agents: { name: string }[] };
  expect(agents.map(({ name }) => name).sort()).toEqual(["explore", "general", "helper"]);
  const created = await server.send("POST", "/session", { prompt: "MAIN: go", worker: "box" });
  const { id } = created.json as { id: string };
  await expect
    .poll(async () => (await server.send("GET", `/session/${id}`)).json, { timeout: 40_000 })
    .toMatchObject({ outcome: "succeeded" });
  const children = (await server.send("GET", `/session/${id}/agent`)).json as { agentId: string }[];
  const lines = await server.send("GET", `/session/${id}/agent/${children.at(-1)?.agentId}/line`);
  expect((lines.json as { lines: Line[] }).lines.find(({ type }) => type === "run.started")).toMatchObject({
    agentType: "helper",
    maxTurns: 10,
  });
}, 60_000);

/** Connects a worker on another machine that has the name and directory of a known worker. */
async function introduce({
  url,
  token,
  root,
}: {
  readonly url: string;
  readonly token: string;
  readonly root: string;
}) {
  const headers = { authorization: `Bearer ${token}` };
  const socket = new WebSocket(`${url.replace("http", "ws")}/worker/link`, { headers });
  onTestFinished(() => socket.terminate());
  await once(socket, "open");
  const answered = once(socket, "message");
  const who = { name: "box", machine: "another", ledger: "another", instance: "i", connection: 1, version: "1" };
  const params = { ...who, protocol: { oldest: 1, newest: 1 }, facts: { root, platform: "linux" }, sessions: [] };
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hello", params }));
  const [answer] = await answered;
  return JSON.parse(String(answer));
}

/** Starts a session on a worker, kills the server while the session's agent runs a command, and starts a new server. */
async function interruptedCall() {
  const { here, there, server: first, start, id } = await working();
  await first.end("SIGKILL");
  const server = await start();
  await hasWorker(server, "connected");
  // The session is being opened, and is waiting for the command.
  await expect.poll(async () => (await server.send("GET", `/session/${id}`)).json).toMatchObject({ state: "running" });
  return { here, there, server, start, id };
}

/** Returns the outcomes of the calls that a session's subagent has made. */
async function outcomesOf(server: ServeProcess, id: string): Promise<readonly (string | undefined)[]> {
  const agents = (await server.send("GET", `/session/${id}/agent`)).json as { agentId: string }[];
  const lines = await server.send("GET", `/session/${id}/agent/${agents.at(-1)?.agentId}/line`);
  return [...lines.text.matchAll(/"outcome":"(\w+)","content"/g)].map(([, outcome]) => outcome);
}

it("a session can be read and stopped while an earlier server's call is still running", async () => {
  const { server, there, id } = await interruptedCall();
  const { json } = await server.send("GET", `/session/${id}`);
  expect(json).not.toHaveProperty("elsewhere");
  const stream = server.stream(`/session/${id}/event`);
  await stream.until(({ data }) => data.type === "session_snapshot");
  await stream.until(({ data }) => JSON.stringify(data).includes("MAIN: go"));
  const stopped = await server.send("POST", `/session/${id}/command`, { id: "stop-1", type: "stop", what: "tree" });
  expect(stopped, stopped.text).toMatchObject({ status: 200, json: { status: "done" } });
  await stream.until(({ data }) => data.type === "turn_complete");
  expect((await server.send("GET", `/session/${id}`)).json).toMatchObject({ state: "idle", outcome: "stopped" });
  expect(await outcomesOf(server, id)).toEqual(["cancelled"]);
  writeFileSync(join(there.cwd, "go"), "");
  expect(await server.end("SIGTERM")).toBe(0);
}, 60_000);

it("a running call stays open if the server is stopped while waiting for it", async () => {
  const { server, there, start, id } = await interruptedCall();
  expect(await server.end("SIGTERM")).toBe(0);
  const next = await start();
  await hasWorker(next, "connected");
  expect(await outcomesOf(next, id)).toEqual([]);
  writeFileSync(join(there.cwd, "go"), "");
  await expect
    .poll(async () => (await next.send("GET", `/session/${id}`)).json, { timeout: 40_000 })
    .toMatchObject({ outcome: "succeeded" });
  expect(await outcomesOf(next, id)).toEqual(["ok", "ok"]);
  expect(readFileSync(join(there.cwd, "marks"), "utf8")).toBe("mark\n");
}, 60_000);

it("a session that is waiting for a lost worker can be stopped, and does not continue when the worker returns", async () => {
  const { api, here, there, server, worker, id } = await working();
  const stream = server.stream(`/session/${id}/event`);
  worker.kill("SIGTERM");
  const closed = await stream.until(({ data }) => data.type === "session_closed");
  expect(closed.data).toMatchObject({
    reason: "worker_lost",
    detail: expect.stringMatching(/^The worker box is not connected/),
  });
  const stop = (what: string) => server.send("POST", `/session/${id}/command`, { id: "stop-1", type: "stop", what });
  const stopped = await stop("tree");
  expect(stopped, stopped.text).toMatchObject({ status: 200, json: { commandId: "stop-1", status: "done" } });
  expect((await server.send("GET", `/session/${id}`)).json).toMatchObject({ state: "ended" });
  startWorker(there, server, here.home);
  await hasWorker(server, "connected");
  const { requests } = api;
  const before = requests.length;
  const other = await server.send("POST", "/session", { worker: "box" });
  expect(other.status).toBe(201);
  expect((await server.send("GET", `/session/${id}`)).json).toMatchObject({ state: "ended" });
  expect(requests.length).toBe(before);
}, 60_000);

it("a session whose worker is stopped during a call does not continue before the worker returns", async () => {
  const { api, here, there, server, worker, id } = await working();
  const before = api.requests.length;
  let said = "";
  worker.stderr.on("data", (chunk) => {
    said += chunk;
  });
  worker.kill("SIGINT");
  await once(worker, "exit");
  expect(said).toContain("retinue: Stopping. This worker's sessions will continue when it is restarted.\n");
  await expect.poll(async () => (await server.send("GET", `/session/${id}`)).json).toMatchObject({ state: "parked" });
  expect(await outcomesOf(server, id)).toEqual([]);
  expect(api.requests.length).toBe(before);
  startWorker(there, server, here.home);
  await expect
    .poll(async () => (await server.send("GET", `/session/${id}`)).json, { timeout: 40_000 })
    .toMatchObject({ outcome: "succeeded" });
  expect(await outcomesOf(server, id)).toEqual(["unknown", "ok"]);
  expect(api.requests[before]?.rawBody.toString()).toContain("Outcome unknown");
  // The call was left open when the session was parked, and counts as part of the agent's work.
  expect(api.requests.at(-1)?.rawBody.toString()).toMatch(/2 tool calls;.*outcome unknown: 1 call/s);
}, 60_000);

it("the error for a worker that is not connected names the worker and says what to do", async () => {
  const { api, here, there, server, worker, id } = await working();
  worker.kill("SIGTERM");
  await hasWorker(server, "lost");
  await expect
    .poll(async () => (await server.send("GET", `/session/${id}`)).json)
    .toMatchObject({ state: "parked", detail: expect.stringMatching(/^The worker box is not connected\. Start it/) });
  const listed = await retinue(["ps", "--server", server.url], here);
  expect(listed.stdout).toContain("parked: worker box is not connected; continues automatically when it returns");
  const attached = await retinue(["attach", id, "--server", server.url], here);
  expect(attached.stdout).toContain(
    `is parked: worker box is not connected; continues automatically when it returns.\n`,
  );
  expect(attached.stdout).not.toContain("retinue resume");
  for (const words of [
    ["ps", "--all"],
    ["sessions", "list", "--all"],
  ]) {
    const { stdout, stderr } = await retinue(words, here);
    expect(stdout + stderr).toContain(`1 worker session is not listed: add --server ${server.url}`);
  }
  expect((await retinue(["message", id, "x"], here)).stderr).toContain(
    `It is a worker's session: add --server ${server.url}`,
  );
  const refused = await server.send("POST", "/session", { worker: "box" });
  expect(refused).toMatchObject({ status: 503, json: { code: "worker_lost" } });
  expect(refused.text).toContain('The worker box is not connected. Start it on its machine with \\"retinue worker\\"');
  expect(await server.send("POST", "/session", { worker: "bix" })).toMatchObject({ status: 404 });
  const message = { id: "m-1", prompt: "One more thing." };
  const kept = await server.send("POST", `/session/${id}/message`, message);
  expect(kept).toMatchObject({ status: 200, json: { status: "done" } });
  expect(kept.text).toContain("The worker box is not connected. The message is in the session's inbox");
  const lost = await retinue(["message", `${id}/nobody`, "Hello.", "--server", server.url], here);
  expect(lost).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no agent "nobody" in this session'),
  });
  writeFileSync(join(there.cwd, "go"), "");
  startWorker(there, server, here.home);
  await expect
    .poll(() => api.requests.some(({ rawBody }) => rawBody.includes("One more thing.")), { timeout: 30_000 })
    .toBe(true);
});

it("a worker can't use another directory's name, and a missing directory is reported", async () => {
  const api = await serve(script);
  const here = createPlace();
  const [there, other] = [await otherMachine(), createPlace()];
  const server = await serveProcess({ ...here, server: api });
  const token = readFileSync(join(here.home, "worker-token"), "utf8").trim();
  const start = (place: Place, name: string) =>
    startRetinue(["worker", "--server", server.url, "--name", name], {
      ...place,
      environment: { RETINUE_TOKEN: token },
    });
  const refusal = async (place: Place, name: string) => {
    const child = start(place, name);
    let text = "";
    child.stderr.on("data", (chunk) => {
      text += chunk;
    });
    const code = await new Promise((resolve) => child.once("exit", resolve));
    return { code, text };
  };
  expect(await refusal(there, "work")).toEqual({
    code: 2,
    text: `retinue: The name "work" belongs to one of the server's directories. Choose another name with --name.\n`,
  });
  const worker = start(there, "box");
  await hasWorker(server, "connected");
  worker.kill("SIGTERM");
  await hasWorker(server, "lost");
  expect(await introduce({ url: server.url, token, root: there.cwd })).toMatchObject({
    error: { message: 'The name "box" belongs to another worker' },
  });
  expect(await refusal(other, "box")).toMatchObject({ code: 2, text: expect.stringContaining("another worker") });
  start(there, "box");
  await hasWorker(server, "connected");
  renameSync(there.cwd, `${there.cwd}-gone`);
  const gone = await server.send("POST", "/session", { worker: "box" });
  expect(gone).toMatchObject({ status: 422, json: { detail: expect.stringContaining("does not exist") } });
});
