import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { RecordedRequest, Reply } from "../../src/testing/index.ts";
import { createPlace, type Place, serve, startRetinue } from "../cli/command-line.ts";
import { type ServeProcess, serveProcess } from "./serve-process.ts";

/** Plays the model: an agent writes a mark, then waits until the test lets it continue. */
function script({ rawBody }: RecordedRequest): Reply {
  const text = rawBody.toString();
  const results = text.split('"type":"tool_result"').length - 1;
  const task = { description: "a part", prompt: "PART: do it", subagent_type: "helper" };
  if (text.includes("MAIN: go")) return { content: results === 0 ? [{ tool: "Task", input: task }] : "All done." };
  const commands = ["echo mark >> marks; until [ -e go ]; do sleep 0.05; done; echo went", "cat own.txt"];
  const command = commands[results];
  return { content: command === undefined ? "Part done." : [{ tool: "Bash", input: { command } }] };
}

/** A directory on another machine, whose user trusts it and has an agent there. */
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
  const trusting = startRetinue(["trust", "add"], place);
  await new Promise((resolve) => trusting.once("exit", resolve));
  return place;
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

const fileAppears = (path: string) => expect.poll(() => existsSync(path), { timeout: 20_000 }).toBe(true);

it.each(["the server is killed", "the worker is killed", "nothing is killed"])(
  "a session on a worker of another machine does its work once, if %s",
  async (what) => {
    const api = await serve(script);
    const here = createPlace();
    const there = await otherMachine();
    const port = String(20_000 + Math.floor(Math.random() * 20_000));
    const options = { ...here, server: api };
    let server = await serveProcess(options, ["--port", port]);
    let worker = startWorker(there, server, here.home);
    await hasWorker(server, "connected");
    expect((await server.send("GET", "/agent?worker=box")).json).toMatchObject({
      agents: expect.arrayContaining([expect.objectContaining({ name: "helper" })]),
    });
    const created = await server.send("POST", "/session", { prompt: "MAIN: go", worker: "box" });
    expect(created, created.text).toMatchObject({ status: 201, json: { worker: "box", cwd: there.cwd } });
    const { id } = created.json as { id: string };
    await fileAppears(join(there.cwd, "marks"));
    expect(existsSync(join(here.cwd, "marks"))).toBe(false);

    if (what === "the server is killed") {
      await server.end("SIGKILL");
      server = await serveProcess(options, ["--port", port]);
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
    expect(await server.end("SIGTERM")).toBe(0);
  },
  120_000,
);

it("a worker that is not connected is named, with what to do", async () => {
  const api = await serve(script);
  const here = createPlace();
  const there = await otherMachine();
  const server = await serveProcess({ ...here, server: api });
  const worker = startWorker(there, server, here.home);
  await hasWorker(server, "connected");
  worker.kill("SIGTERM");
  await hasWorker(server, "lost");
  const refused = await server.send("POST", "/session", { worker: "box" });
  expect(refused).toMatchObject({ status: 503, json: { code: "worker_lost" } });
  expect(refused.text).toContain('The worker box is not connected. Start it on its machine with \\"retinue worker\\"');
  expect(await server.send("POST", "/session", { worker: "bix" })).toMatchObject({ status: 404 });
});

it("a worker can't take the name of another directory, and a directory that is gone is named", async () => {
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
    text: 'retinue: The name "work" belongs to a directory of the server. Choose another name with --name.\n',
  });
  const worker = start(there, "box");
  await hasWorker(server, "connected");
  worker.kill("SIGTERM");
  await hasWorker(server, "lost");
  expect(await refusal(other, "box")).toMatchObject({ code: 2, text: expect.stringContaining("another worker") });
  start(there, "box");
  await hasWorker(server, "connected");
  renameSync(there.cwd, `${there.cwd}-gone`);
  const gone = await server.send("POST", "/session", { worker: "box" });
  expect(gone).toMatchObject({ status: 422, json: { detail: expect.stringContaining("does not exist") } });
});
