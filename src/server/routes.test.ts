import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { latestSessionId } from "../app/index.ts";
import type { AgentInfo, Line } from "../protocol/index.ts";
import type { Reply } from "../testing/index.ts";
import {
  newPlace,
  type ServerPlace,
  said,
  startApi,
  startServer,
  startSession,
  stateOf,
  type TestServer,
  updateOf,
} from "./server.test-support.ts";

const bash = (command: string): Reply => said([{ tool: "Bash", input: { command } }]);

async function ended(server: TestServer, id: string, text: string): Promise<void> {
  const stream = server.stream(`/session/${id}/event`);
  await stream.until(({ data }) => data.type === "turn_complete" && data["text"] === text);
  stream.close();
}

/** Returns the directory that contains a session's files. */
function filesOf({ home }: ServerPlace, id: string): string {
  const projects = join(home, "projects");
  return join(projects, readdirSync(projects)[0] ?? "", id);
}

describe("a session over HTTP", () => {
  it("is started, watched, prompted, listed and deleted", async () => {
    const api = await startApi([said("One."), said("Two.")]);
    const server = await startServer({ api });
    const session = await startSession(server, { prompt: "First" });
    expect(session).toMatchObject({ worker: "work", state: "running", turns: expect.any(Number), approvals: 0 });
    const stream = server.stream(`/session/${session.id}/event`);
    expect((await stream.until(({ data }) => data.type === "session_snapshot")).id).toBeUndefined();
    await stream.until(({ data }) => data.type === "turn_complete" && data["text"] === "One.");
    const message = await server.send("POST", `/session/${session.id}/message`, { body: { prompt: "Second" } });
    expect(message).toMatchObject({ status: 200, json: { status: "done" } });
    await stream.until(({ data }) => data.type === "turn_complete" && data["text"] === "Two.");
    const ids = stream.events.flatMap(({ id }) => id ?? []);
    expect(ids).toEqual(Array.from(ids, (_, index) => index + 1));
    expect(stream.events.flatMap((event) => updateOf(event)?.event.type ?? [])).toContain("text.delta");
    await stateOf(server, session.id, "idle");
    const beyond = await server.send("GET", `/session/${session.id}/event?after=${ids.length + 1}`);
    expect(beyond).toMatchObject({ status: 400, json: { code: "invalid_cursor" } });
    expect((await server.send("GET", "/session")).json).toMatchObject([
      { id: session.id, title: "First", outcome: "succeeded", reason: "done" },
    ]);
    expect((await server.send("DELETE", `/session/${session.id}`)).status).toBe(204);
    expect(await stream.until(({ data }) => data.type === "session_closed")).toMatchObject({
      data: { reason: "deleted" },
    });
    await stream.ended;
    expect((await server.send("GET", `/session/${session.id}`)).status).toBe(404);
    expect(server.reports).toEqual([]);
  });

  it("carries out a command once, no matter how often it is sent", async () => {
    const api = await startApi([said("One."), said("Two.")]);
    const server = await startServer({ api });
    const { id } = await startSession(server, { prompt: "First" });
    await ended(server, id, "One.");
    const body = { id: "m1", type: "prompt", to: "main", content: [{ type: "text", text: "Again" }], when: "next" };
    const [first, second] = await Promise.all(
      [1, 2].map(() => server.send("POST", `/session/${id}/command`, { body })),
    );
    expect(first?.json).toMatchObject({ commandId: "m1", status: "done" });
    expect(second?.json).toEqual(first?.json);
    await ended(server, id, "Two.");
    const other = { ...body, content: [{ type: "text", text: "Something else" }] };
    expect((await server.send("POST", `/session/${id}/command`, { body: other })).json).toEqual({
      status: 409,
      code: "conflict",
      detail: "Another command was sent with the id m1. Send this one with a new id.",
    });
    const unknown = { ...body, id: "m2", to: "nobody", when: "now" };
    expect((await server.send("POST", `/session/${id}/command`, { body: unknown })).json).toMatchObject({
      status: "refused",
      message: expect.stringContaining("no agent"),
    });
    api.assertDone();
  });

  it("keeps its client's choices when it is closed because it is idle, and opens again for the next message", async () => {
    const at = newPlace();
    const api = await startApi([said("One."), bash("touch made"), said("Two.")]);
    const server = await startServer({ place: at, api, limits: { idleMs: 200 } });
    const { id } = await startSession(server, { prompt: "First", permissionMode: "bypassPermissions" });
    await ended(server, id, "One.");
    await stateOf(server, id, "ended");
    expect(existsSync(join(filesOf(at, id), "lock"))).toBe(false);
    await server.send("POST", `/session/${id}/message`, { body: { prompt: "Second" } });
    await ended(server, id, "Two.");
    expect(existsSync(join(at.cwd, "made"))).toBe(true);
  });

  it("keeps its client's options if the server is restarted before the first prompt", async () => {
    const place = newPlace();
    const api = await startApi([said("One.")]);
    const first = await startServer({ place, api });
    const { id } = await startSession(first, { maxTurns: 7, agent: "Explore" });
    expect((await first.send("GET", "/session")).json).toMatchObject([{ id, state: "idle", turns: 0 }]);
    await first.close();
    expect(latestSessionId({ home: place.home, cwd: place.cwd })).toBeUndefined();
    const server = await startServer({ place, api });
    await server.resumed;
    expect((await server.send("GET", "/session")).json).toMatchObject([{ id, state: "ended", turns: 0 }]);
    const resume = { id: "r1", type: "resume", agent: "main" };
    expect((await server.send("POST", `/session/${id}/command`, { body: resume })).json).toMatchObject({
      status: "refused",
      message: "The main agent has no prompt yet. Send it one.",
    });
    await server.send("POST", `/session/${id}/message`, { body: { prompt: "Go." } });
    await ended(server, id, "One.");
    const { lines } = (await server.send("GET", `/session/${id}/agent/main/line`)).json as { lines: Line[] };
    expect(lines.map(({ type }) => type).filter((type) => type === "session.created")).toHaveLength(1);
    expect(lines).toContainEqual(
      expect.objectContaining({ type: "run.started", kind: "fresh", agentType: "Explore", maxTurns: 7 }),
    );
    expect(server.reports).toEqual([]);
  });

  it("tells its clients that files in an untrusted directory are ignored", async () => {
    const place = newPlace();
    writeFileSync(join(place.cwd, "AGENTS.md"), "Be brief.\n");
    const server = await startServer({ place, api: await startApi([]) });
    const { notices } = await startSession(server);
    expect(notices).toContainEqual(
      expect.stringMatching(/^This directory is not trusted, so Retinue ignores AGENTS\.md/),
    );
  });

  it("passes messages for its user on to its clients", async () => {
    const server = await startServer();
    const { id, notices } = await startSession(server);
    const advice = "or name a provider with `provider` in the server's settings.";
    expect(notices).toEqual([expect.stringMatching(/^No provider is configured: using the offline model/)]);
    expect(notices?.[0]).toContain(advice);
    const stream = server.stream(`/session/${id}/event`);
    const { data } = await stream.until(({ data: { type } }) => type === "session_snapshot");
    expect(data["session"]).toMatchObject({ notices });
  });

  it("shows its queue, its agents, their transcripts and complete outputs", async () => {
    const at = newPlace();
    const long = "0123456789".repeat(20_000);
    const task = { description: "a part", prompt: "CHILD: look", subagent_type: "general-purpose" };
    const api = await startApi(({ rawBody }) => {
      const text = rawBody.toString();
      if (text.includes("MAIN: go"))
        return text.includes('"tool_result"') ? said("Done.") : said([{ tool: "Task", input: task }]);
      return text.includes('"tool_result"') ? said("Found.") : bash("cat notes.txt");
    });
    const server = await startServer({ place: at, api });
    const { id } = await startSession(server, { prompt: "MAIN: go" });
    await ended(server, id, "Done.");
    const path = `/session/${id}`;
    expect((await server.send("GET", `${path}/queue`)).json).toEqual([]);
    const agents = (await server.send("GET", `${path}/agent`)).json as AgentInfo[];
    const [main, child] = agents;
    expect(main).toMatchObject({ agentId: "main", path: [] });
    expect(child).toMatchObject({ agentType: "general-purpose", path: [child?.agentId], description: "a part" });
    const [call] = (await server.send("GET", `${path}/agent/main/line`)).text.match(/(?<="callId":")\w+/) ?? [];
    const subagent = { parentSessionId: id, agentType: "general-purpose", callId: call };
    expect(child?.metadata).toEqual({ subagent });
    expect(main).not.toHaveProperty("metadata");
    const lines: Line[] = [];
    for (let after: string | undefined = "0"; after !== undefined; ) {
      const page = await server.send("GET", `${path}/agent/${child?.agentId}/line?after=${after}&limit=5`);
      const { lines: some, next } = page.json as { lines: Line[]; next?: string };
      expect(some.length).toBeLessThanOrEqual(5);
      lines.push(...some);
      after = next;
    }
    expect(lines.map((line) => Number(line.id))).toEqual(lines.map((_, index) => index + 1));
    const results = join(filesOf(at, id), "results");
    mkdirSync(results);
    writeFileSync(join(results, "call_1.txt"), long);
    symlinkSync(join(at.cwd, "notes.txt"), join(results, "link.txt"));
    const whole = await server.send("GET", `${path}/result/call_1`);
    expect(whole).toMatchObject({ text: long, headers: { "content-type": "text/plain; charset=utf-8" } });
    for (const missing of ["/agent/a000000000000/line", "/result/nothing", "/result/link"])
      expect((await server.send("GET", path + missing)).status).toBe(404);
    const stream = server.stream(`${path}/event`);
    const envelope = await stream.until(({ data }) => data.type === "subagent_event");
    expect(envelope.data).toMatchObject({ agentType: "general-purpose", sessionId: child?.agentId, path: child?.path });
  });

  it("runs as the agent that the settings choose, unless its client names one", async () => {
    const at = newPlace();
    const settings = join(at.home, "settings.json");
    writeFileSync(settings, JSON.stringify({ agent: "Explore" }));
    const server = await startServer({ place: at });
    const agentOf = async (body: object): Promise<string | undefined> => {
      const { id } = (await server.send("POST", "/session", { body })).json as { id: string };
      const [main] = (await server.send("GET", `/session/${id}/agent`)).json as AgentInfo[];
      return main?.agentType;
    };
    expect(await agentOf({})).toBe("Explore");
    expect(await agentOf({ agent: "Plan" })).toBe("Plan");
    expect(await agentOf({ agent: "main" })).toBe("main");
    writeFileSync(settings, JSON.stringify({ agent: "explroe" }));
    const { status, json } = await server.send("POST", "/session", { body: {} });
    const { detail } = json as { detail: string };
    expect(status).toBe(422);
    expect(detail).toContain('There is no agent "explroe", which ');
    expect(detail).not.toContain("option");
  });

  it("is refused with a reason", async () => {
    const server = await startServer();
    const refused = async (body: unknown) => (await server.send("POST", "/session", { body })).json;
    expect(await refused({ worker: "nowhere" })).toMatchObject({ status: 404, code: "unknown_worker" });
    expect(await refused({ agent: "explroe" })).toMatchObject({
      status: 422,
      detail: expect.stringContaining('Did you mean "Explore"?'),
    });
    const { detail } = (await refused({ model: "no\u001b[31mpe" })) as { detail: string };
    expect(detail).toContain('for the model "nope" (from the `model` field)');
    expect(detail).toContain("choose a provider with `provider` in the server's settings.");
    expect((await server.send("POST", "/session", { headers: { "Content-Type": "text/plain" } })).status).toBe(415);
    for (const method of ["PUT", "PATCH", "HEAD", "OPTIONS", "TRACE"])
      expect((await server.send(method, "/event")).status).toBe(405);
    expect((await server.send("DELETE", "/event")).status).toBe(404);
    expect((await server.send("GET", "/session")).json).toEqual([]);
  });

  it.each<[string, string, unknown, string]>([
    ["POST", "/session", { prompt: 3 }, '"prompt" in the body must be a string. GET /docs describes the body.'],
    ["POST", "/session", { promt: "x" }, 'The body has an unknown field "promt". Did you mean "prompt"?'],
    [
      "POST",
      "/session",
      { agents: {} },
      `The body has an unknown field "agents". It comes from the directory and the server's settings.`,
    ],
    [
      "POST",
      "/session",
      { cwd: "/tmp" },
      `The body has an unknown field "cwd". The directory is a worker's directory: set worker to a name that GET /worker lists.`,
    ],
    [
      "POST",
      "/session",
      { provider: "offline" },
      `The body has an unknown field "provider". The provider comes from the server's settings. To choose a model from another provider, set model.`,
    ],
    [
      "POST",
      "/session",
      { permissionMode: "yolo" },
      '"permissionMode" in the body must be "default", "acceptEdits", "dontAsk", "bypassPermissions" or "plan". GET /docs describes the body.',
    ],
    ["POST", "/session", { prompt: "" }, '"prompt" in the body must not be empty. GET /docs describes the body.'],
    [
      "POST",
      "/session",
      { maxTurns: 0 },
      '"maxTurns" in the body must be greater than 0. GET /docs describes the body.',
    ],
    [
      "POST",
      "/session",
      { maxTurns: 1.5 },
      '"maxTurns" in the body must be a whole number. GET /docs describes the body.',
    ],
    ["POST", "/session", [], "The body must be an object. GET /docs describes the body."],
    ["POST", "/session/x/message", {}, "The body must have either prompt or content. GET /docs describes the body."],
    [
      "POST",
      "/session/x/message",
      { content: [] },
      '"content" in the body must have at least 1 element. GET /docs describes the body.',
    ],
    [
      "POST",
      "/session/x/command",
      { type: "stop", what: "tree" },
      '"id" in the body is missing. GET /docs describes the body.',
    ],
    [
      "POST",
      "/session/x/command",
      { type: "halt" },
      '"type" in the body must be "prompt", "edit", "withdraw", "answer", "stop", "resume", "background", "foreground", "configure", "compact" or "rewind". GET /docs describes the body.',
    ],
    [
      "GET",
      "/session/x/event?after=y",
      undefined,
      '"after" in the query must be a number: the id of the last event or line that you have received. GET /docs describes the query.',
    ],
    [
      "GET",
      "/session/x/agent/main/line?limit=5000",
      undefined,
      '"limit" in the query must be at most 1000. GET /docs describes the query.',
    ],
    ["GET", "/worker?name=x", undefined, 'The query has an unknown field "name". Leave it out.'],
    [
      "POST",
      "/session/x/approval/7",
      { answer: "allow" },
      '"request" in the address must be the id of a request, such as ask_1a2b3c. GET /approval lists the requests.',
    ],
    [
      "POST",
      "/session",
      "{bad",
      'The body is not valid JSON. Send a JSON object, such as {"prompt": "…"}. GET /docs describes the body.',
    ],
    [
      "POST",
      "/session",
      "",
      'The request has no body. Send a JSON object, such as {"prompt": "…"}. GET /docs describes the body.',
    ],
  ])("reports what is wrong with a request: %s %s %j", async (method, path, body, detail) => {
    const server = await startServer();
    expect((await server.send(method, path, { body })).json).toEqual({ status: 400, code: "invalid_request", detail });
  });
});

describe("the server", () => {
  it("describes its agents, workers and routes", async () => {
    const at = newPlace();
    const other = join(at.root, "other/work");
    mkdirSync(other, { recursive: true });
    const server = await startServer({ place: at, projects: [at.cwd, other] });
    expect((await server.send("GET", "/worker")).json).toMatchObject([
      { name: "work", root: at.cwd, state: "connected" },
      { name: "work-2", root: other },
    ]);
    expect((await server.send("GET", "/agent?worker=work-2")).json).toMatchObject({ trusted: false, diagnostics: [] });
    const api = (await server.send("GET", "/openapi.json")).json as { paths: Record<string, object> };
    expect(Object.keys(api.paths)).toContain("/session/{id}/approval/{request}");
    expect(JSON.stringify(api.paths["/session"])).toContain('"additionalProperties":false');
    const docs = await server.send("GET", "/docs");
    for (const [path, operations] of Object.entries(api.paths))
      for (const method of Object.keys(operations))
        expect(docs.text).toContain(`<code>${method.toUpperCase()} ${path}</code></h2>`);
    for (const field of ["permissionMode", "maxCost", "content[].mediaType", "answer.always.rule", "what", "limit"])
      expect(docs.text).toContain(`<td><code>${field}</code></td>`);
    expect(docs.text).toContain("First prompt. Without one, the session waits for a message.");
    expect(docs.text).not.toMatch(/https?:|<script|src=/);
  });

  it("reports changes in all sessions, including those in other directories that it serves", async () => {
    const api = await startApi([bash("touch made"), said("Done.")]);
    const server = await startServer({ api });
    const all = server.stream("/event");
    await all.until(({ data }) => data.type === "server_snapshot");
    const { id } = await startSession(server, { prompt: "Go." });
    const { data } = await all.until((event) => event.data.type === "approval_requested");
    const { requestId } = (data["approval"] as { question: { requestId: string } }).question;
    await stateOf(server, id, "waiting");
    await server.send("POST", `/session/${id}/approval/${requestId}`, { body: { answer: "deny", message: "No." } });
    await all.until((event) => event.data.type === "approval_settled" && event.data["requestId"] === requestId);
    await stateOf(server, id, "idle");
    await server.send("DELETE", `/session/${id}`);
    await all.until((event) => event.data.type === "session_deleted" && event.data["sessionId"] === id);
  });

  it("sends comments that keep a stream open", async () => {
    const server = await startServer({ limits: { keepAliveMs: 20 } });
    const { id } = await startSession(server);
    const stream = server.stream(`/session/${id}/event`);
    await stream.until(() => stream.comments.length > 1);
    expect(stream.comments[0]).toBe(": keep-alive");
  });

  it("allows only one server per state directory", async () => {
    const at = newPlace();
    const server = await startServer({ place: at });
    await expect(startServer({ place: at })).rejects.toThrow(/already serves/);
    expect(JSON.parse(readFileSync(server.file, "utf8")).url).toBe(server.url);
  });
});

it("needs the approve scope for an agent whose own mode needs fewer approvals", async () => {
  const place = newPlace();
  mkdirSync(join(place.root, ".claude/agents"), { recursive: true });
  const text =
    "---\nname: free\ndescription: Works freely. Use it in tests.\npermissionMode: bypassPermissions\n---\nWork.\n";
  writeFileSync(join(place.root, ".claude/agents/free.md"), text);
  const server = await startServer({ place, api: await startApi([said("One.")]) });
  const { token } = JSON.parse(readFileSync(server.file, "utf8")) as { token: string };
  const body = { agent: "free" };
  const headers = { Authorization: `Bearer ${token}` };
  expect(await server.send("POST", "/session", { headers, body })).toMatchObject({ status: 403 });
  expect((await server.send("GET", "/session")).json).toEqual([]);
  expect(await server.send("POST", "/session", { body })).toMatchObject({ status: 201 });
});

it("needs the approve scope to change the permission mode, but not the model", async () => {
  const server = await startServer({ api: await startApi([said("One.")]) });
  const { token } = JSON.parse(readFileSync(server.file, "utf8")) as { token: string };
  const { id } = await startSession(server);
  const path = `/session/${id}/command`;
  const headers = { Authorization: `Bearer ${token}` };
  const mode = { id: "c1", type: "configure", permissionMode: "acceptEdits" };
  expect(await server.send("POST", path, { headers, body: mode })).toMatchObject({ status: 403 });
  const model = { id: "c2", type: "configure", model: "another-model" };
  expect((await server.send("POST", path, { headers, body: model })).json).toMatchObject({ status: "done" });
  expect((await server.send("POST", path, { body: { ...mode, id: "c3" } })).json).toEqual({
    commandId: "c3",
    status: "done",
    message: "The permission mode is now acceptEdits.",
  });
});

it("needs the approve scope to restore files, but not to go back without restoring them", async () => {
  const place = newPlace();
  const write = said([{ tool: "Write", input: { file_path: "package.json", content: "{}" } }]);
  const server = await startServer({ place, api: await startApi([write, said("One.")]) });
  const { token } = JSON.parse(readFileSync(server.file, "utf8")) as { token: string };
  const { id } = await startSession(server, { prompt: "Write it" });
  await stateOf(server, id, "waiting");
  const [request] = (await server.send("GET", "/approval")).json as { question: { requestId: string } }[];
  const answer = `/session/${id}/approval/${request?.question.requestId}`;
  await server.send("POST", answer, { body: { answer: "allow" } });
  await ended(server, id, "One.");
  // The run's end is recorded before the session can do anything else.
  await stateOf(server, id, "idle");
  const [prompt] = (await server.send("GET", `/session/${id}/prompt`)).json as { id: string }[];
  const send = (body: object, headers = {}) => server.send("POST", `/session/${id}/command`, { headers, body });
  const weaker = { Authorization: `Bearer ${token}` };
  const rewind = { type: "rewind", to: prompt?.id };
  expect(await send({ ...rewind, id: "c1", files: true }, weaker)).toMatchObject({ status: 403 });
  expect(existsSync(join(place.cwd, "package.json"))).toBe(true);
  expect((await send({ ...rewind, id: "c2", files: true })).json).toMatchObject({ status: "done" });
  expect(existsSync(join(place.cwd, "package.json"))).toBe(false);
});
