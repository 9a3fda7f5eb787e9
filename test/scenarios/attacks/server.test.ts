import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSession, systemClock } from "../../../src/app/index.ts";
import {
  type Answer,
  newPlace,
  said,
  sendRaw,
  sendTo,
  startApi,
  startServer,
  startSession,
  type TestServer,
} from "../../../src/server/server.test-support.ts";
import { createScriptedModel } from "../../../src/testing/index.ts";
import { createTranscript } from "../../../src/transcript/index.ts";

interface Row {
  readonly id: string;
  readonly family: string;
  readonly input: {
    readonly method?: string;
    readonly path?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string | null;
    readonly upgrade?: string;
  };
  readonly status: readonly number[] | "n/a";
}

const rows = readFileSync(join(import.meta.dirname, "server-rows.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);
const requests = rows.filter(({ input }) => input.path !== undefined);

describe("requests to the server", () => {
  it("are refused if they are attacks, and accepted if they are benign", async () => {
    const { server, canary, fill } = await place();
    const wrong: string[] = [];
    for (const row of requests) {
      const before = (await server.send("GET", "/session")).text;
      const { status, text, headers } = await attempt(server, row, fill);
      const isBenign = row.family === "benign";
      const secrets = [server.token, server.workerToken, "root:", "node_modules", "    at "];
      const isFine =
        row.status !== "n/a" &&
        row.status.includes(status) &&
        headers["access-control-allow-origin"] === undefined &&
        !existsSync(canary) &&
        (isBenign || !secrets.some((secret) => text.includes(secret))) &&
        (isBenign || (await server.send("GET", "/session")).text === before);
      if (!isFine) wrong.push(`${row.id} ${row.family}: ${status} ${text.slice(0, 200)}`);
    }
    expect(wrong).toEqual([]);
    expect(server.reports).toEqual([]);
    expect(requests).toHaveLength(58);
  });

  it("are all covered, here or in the tests below", () => {
    const described = rows.filter((row) => !requests.includes(row)).map(({ id }) => id);
    expect(described).toEqual(Object.keys(elsewhere));
    expect(rows).toHaveLength(74);
  });
});

/** Attacks that the corpus describes only as text, with the titles of their tests. */
const elsewhere = {
  "SERVER-026": "refuses wrong tokens of every length",
  "SERVER-057": "listens on the loopback interface only",
  "SERVER-059": "keeps tokens out of arguments, transcripts and messages",
  "SERVER-060": "keeps its tokens in files that only their owner can read",
  "SERVER-088": "refuses a second answer",
  "SERVER-089": "decides again about an edited input",
  "SERVER-090": "lets a token do only what its scopes allow",
  "SERVER-091": "keeps a request open when the client disconnects",
  "SERVER-093": "drops a client that never reads",
  "SERVER-094": "refuses a position from another session",
  "SERVER-095": "closes connections that send their headers too slowly",
  "SERVER-096": "refuses conflicting body lengths",
  "SERVER-097": "redirects only to itself",
  "SERVER-099": "ignores options in a link",
  "SERVER-100": "ignores options in a link",
  "SERVER-101": "offers no terminals",
};

async function place() {
  const at = newPlace();
  const api = await startApi([said("Hello.")]);
  const server = await startServer({ place: at, api });
  const session = await startSession(server);
  const other = await otherSession(at);
  const canary = join(at.root, "canary");
  const fill = (text: string): string =>
    text
      .replaceAll("{PORT}", new URL(server.url).port)
      .replaceAll("{TOKEN}", server.token)
      .replaceAll("{EXPIRED}", "A".repeat(43))
      .replaceAll("{CANARY}", canary)
      .replaceAll("{OTHER_PROJECT_SESSION}", other)
      .replaceAll("{id}", session.id)
      .replace(/a+…\(100 MB\)/, () => "a".repeat(30_000_000))
      .replace(/^.*…\(120001 chars\)$/, () => `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`);
  return { server, canary, fill, other, at };
}

/** Creates a session in a directory that the server does not serve. */
async function otherSession({ root, home }: { root: string; home: string }): Promise<string> {
  const cwd = join(root, "other");
  mkdirSync(cwd);
  const session = await openSession({ cwd, home, model: createScriptedModel([{ text: "Secret." }]), environment: {} });
  await session.prompt("Go.").result;
  await session.close();
  return session.id;
}

async function attempt(server: TestServer, { input }: Row, fill: (text: string) => string): Promise<Answer> {
  const { method = "GET", path = "", headers = {}, body, upgrade } = input;
  const filled = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)]));
  if (upgrade !== undefined) {
    const text = await sendRaw(server.url, rawUpgrade(fill(path), { Host: new URL(server.url).host, ...filled }));
    return { status: Number(text.split(" ")[1]), headers: {}, text, json: undefined as never };
  }
  if (filled["Host"] === "") {
    // Node's client does not send an empty header.
    const text = await sendRaw(server.url, `${method} ${path} HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n`);
    return { status: Number(text.split(" ")[1]), headers: {}, text, json: undefined as never };
  }
  return sendTo(server.url, {
    method,
    path: fill(path),
    headers: filled,
    body: body === null || body === undefined ? undefined : fill(body),
  });
}

function rawUpgrade(path: string, headers: Record<string, string>): string {
  const fields = { Connection: "Upgrade", Upgrade: "websocket", ...headers };
  return `GET ${path} HTTP/1.1\r\n${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;
}

describe("the server (tokens)", () => {
  it("refuses wrong tokens of every length, and still lets the right one in", async () => {
    const server = await startServer();
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    const seen = new Map<number, number>();
    const attempts = Array.from({ length: 1_000 }, (_, index) => "x".repeat(index % 300));
    const { hostname, port } = new URL(server.url);
    const next = async (): Promise<void> => {
      for (let token = attempts.pop(); token !== undefined; token = attempts.pop()) {
        const request = httpRequest({
          hostname,
          port,
          path: "/session",
          agent,
          headers: { Authorization: `Bearer ${token}` },
        });
        request.end();
        const [response] = await once(request, "response");
        response.resume();
        seen.set(response.statusCode, (seen.get(response.statusCode) ?? 0) + 1);
        await once(response, "end");
      }
    };
    await Promise.all(Array.from({ length: 8 }, next));
    agent.destroy();
    expect([...seen.keys()].sort()).toEqual([401, 429]);
    expect(seen.get(429)).toBeGreaterThan(900);
    expect((await server.send("GET", "/session")).status).toBe(200);
  });

  it("keeps its tokens in files that only their owner can read, and rejects tokens from before a restart", async () => {
    const at = newPlace();
    const server = await startServer({ place: at });
    const file = JSON.parse(readFileSync(server.file, "utf8"));
    expect(file).toEqual({ url: server.url, pid: process.pid, token: expect.stringMatching(/^[\w-]{43}$/) });
    for (const name of ["server.json", "worker-token"]) expect(statSync(join(at.home, name)).mode & 0o777).toBe(0o600);
    expect(file.token).not.toBe(server.token);
    await server.close();
    expect(existsSync(server.file)).toBe(false);
    const again = await startServer({ place: at });
    expect(again.workerToken).toBe(server.workerToken);
    for (const token of [server.token, file.token]) {
      const old = { headers: { Authorization: `Bearer ${token}` } };
      expect((await again.send("GET", "/session", old)).status).toBe(401);
    }
  });

  it("lets a token do only what its scopes allow", async () => {
    const server = await startServer();
    const { id } = await startSession(server);
    const { token } = JSON.parse(readFileSync(server.file, "utf8"));
    const client = { Authorization: `Bearer ${token}` };
    const worker = { Authorization: `Bearer ${server.workerToken}` };
    const answer = { id: "c1", type: "answer", requestId: "ask_1", answer: { answer: "allow", by: "me" } };
    const bodies: [string, string, object][] = [
      ["POST", `/session/${id}/approval/ask_1`, { answer: "allow" }],
      ["POST", `/session/${id}/command`, answer],
      ["POST", "/session", { permissionMode: "bypassPermissions" }],
      ["POST", "/session", { permissionMode: "acceptEdits" }],
    ];
    for (const [method, path, body] of bodies)
      expect(await server.send(method, path, { headers: client, body })).toMatchObject({
        status: 403,
        json: { code: "forbidden", detail: expect.stringContaining("approve") },
      });
    expect((await server.send("POST", "/session", { headers: client, body: {} })).status).toBe(201);
    for (const path of ["/session", "/event", "/approval", `/session/${id}`, "/docs", "/openapi.json"])
      expect((await server.send("GET", path, { headers: worker })).status, path).toBe(403);
    expect((await server.send("POST", "/session", { headers: worker, body: {} })).status).toBe(403);
    const raw = rawUpgrade("/worker/link", { Host: new URL(server.url).host, ...client });
    expect(await sendRaw(server.url, raw)).toMatch(/^HTTP\/1.1 403 /);
  });

  it("refuses tokens in URLs, even with the right header", async () => {
    const server = await startServer();
    for (const path of [`/session?token=${server.token}`, "/event?access_token=x", "/docs?TOKEN=x"])
      expect(await server.send("GET", path), path).toMatchObject({
        status: 401,
        json: { detail: expect.stringMatching(/URLs .* Authorization.* header/) },
      });
    expect(await server.send("GET", "/session?limit=5")).toMatchObject({
      status: 400,
      json: { detail: expect.stringContaining('"limit"') },
    });
  });

  it("limits how often tickets can be guessed, and still accepts the right one", async () => {
    const server = await startServer();
    const open = (ticket: string | null): Promise<Answer> =>
      sendTo(server.url, { method: "GET", path: `/?ticket=${ticket}` });
    const statuses = new Set<number>();
    for (let count = 0; count < 60; count += 1) statuses.add((await open(`guess-${count}`)).status);
    expect([...statuses]).toEqual([401, 429]);
    expect((await open(new URL(server.link).searchParams.get("ticket"))).status).toBe(303);
  });

  it("keeps tokens out of arguments, transcripts and messages", async () => {
    const at = newPlace();
    const command = "tr '\\0' ' ' < /proc/$PPID/cmdline; env";
    const api = await startApi([said([{ tool: "Bash", input: { command } }]), said("Done.")]);
    const server = await startServer({ place: at, api });
    const { id } = await startSession(server, { prompt: "Go.", permissionMode: "bypassPermissions" });
    await server.stream(`/session/${id}/event`).until(({ data }) => data.type === "turn_complete");
    const { token } = JSON.parse(readFileSync(server.file, "utf8"));
    const secrets = [server.token, token, server.workerToken, "key-of-the-test", server.link.split("=")[1]!];
    const files = readdirSync(join(at.home, "projects"), { recursive: true, encoding: "utf8" })
      .map((name) => join(at.home, "projects", name))
      .filter((path) => statSync(path).isFile());
    expect(files.length).toBeGreaterThan(0);
    for (const path of files)
      for (const secret of secrets) expect(readFileSync(path, "utf8").includes(secret), path).toBe(false);
  });
});

describe("the server (connections)", () => {
  it("listens on the loopback interface only, unless TLS or an option says otherwise", async () => {
    const server = await startServer();
    expect(new URL(server.url).hostname).toBe("127.0.0.1");
    await expect(startServer({ host: "0.0.0.0" })).rejects.toThrow(/Without TLS/);
    await expect(startServer({ host: "::" })).rejects.toThrow(/Without TLS/);
    const open = await startServer({ host: "0.0.0.0", insecure: true, allowHosts: ["retinue.test"] });
    const { url } = open;
    const { port } = new URL(url);
    const status = async (host: string): Promise<number> =>
      (
        await sendTo(url, {
          method: "GET",
          path: "/session",
          headers: { Host: host, Authorization: `Bearer ${open.token}` },
        })
      ).status;
    expect(await status(new URL(url).host)).toBe(200);
    expect(await status(`0.0.0.0:${port}`)).toBe(421);
    expect(await status(`retinue.test:${port}`)).toBe(200);
    expect(await status("retinue.test.evil.test")).toBe(421);
  });

  it("explains what is wrong with requests that are not HTTP, and tolerates clients that disconnect", async () => {
    const server = await startServer();
    const fields = `Host: ${new URL(server.url).host}\r\nAuthorization: Bearer ${server.token}\r\n`;
    const chunked = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    const requests: readonly [request: string, status: number, code: string][] = [
      ["\0\u0001\r\n\r\n", 400, "invalid_request"],
      [`POST /session HTTP/1.1\r\n${fields}${chunked}\r\nZZ\r\n`, 400, "invalid_request"],
      [`GET /session HTTP/1.1\r\n${fields}X: ${"x".repeat(20_000)}\r\n\r\n`, 431, "headers_too_large"],
      [
        `GET /session HTTP/1.1\r\nConnection: close\r\nAuthorization: Bearer ${server.token}\r\n\r\n`,
        421,
        "misdirected",
      ],
      [`GET /worker/link HTTP/1.1\r\n${fields}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`, 403, "forbidden"],
    ];
    for (const [request, status, code] of requests) {
      const answer = await sendRaw(server.url, request);
      expect(answer).toMatch(
        new RegExp(`^HTTP/1.1 ${status} [^]*Content-Type: application/problem\\+json[^]*"code":"${code}"`),
      );
    }
    const leaving = connect(Number(new URL(server.url).port), "127.0.0.1");
    leaving.write(`POST /session HTTP/1.1\r\n${fields}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{`);
    // The server has begun to read the request when it answers a later one.
    expect((await server.send("GET", "/session")).status).toBe(200);
    leaving.resetAndDestroy();
    await once(leaving, "close");
    expect((await server.send("GET", "/session")).status).toBe(200);
    expect(server.reports).toEqual([]);
  });

  it("answers browsers only for allowed origins", async () => {
    const origin = "https://app.test";
    const server = await startServer({ allowOrigins: [origin] });
    const asked = await sendTo(server.url, { method: "OPTIONS", path: "/session", headers: { Origin: origin } });
    expect(asked).toMatchObject({ status: 204, headers: { "access-control-allow-origin": origin } });
    expect((await server.send("GET", "/session", { headers: { Origin: origin } })).status).toBe(200);
    expect((await server.send("GET", "/session", { headers: { Origin: server.url } })).status).toBe(200);
    for (const other of [`${origin}.evil.test`, "https://app.test:444", "http://app.test", "null"])
      expect((await server.send("GET", "/session", { headers: { Origin: other } })).status).toBe(403);
  });

  it("closes connections that send their headers too slowly", async () => {
    const server = await startServer({ limits: { headersMs: 200, requestMs: 400 } });
    const { hostname, port, host } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    let received = "";
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString();
    });
    socket.write(`GET /session HTTP/1.1\r\nHost: ${host}\r\n`);
    const slowly = setInterval(() => socket.write("X-A: b\r\n"), 50);
    await once(socket, "close");
    clearInterval(slowly);
    expect(received).toMatch(/^HTTP\/1.1 408 /);
    expect((await server.send("GET", "/session")).status).toBe(200);
  });

  it("refuses conflicting body lengths, repeated headers and foreign targets", async () => {
    const server = await startServer();
    const { host } = new URL(server.url);
    const bearer = `Authorization: Bearer ${server.token}`;
    const json = "Content-Type: application/json";
    const head = (target: string, ...fields: string[]): string =>
      `${[`POST ${target} HTTP/1.1`, ...fields].join("\r\n")}\r\n\r\n`;
    const lengths = head("/session", `Host: ${host}`, bearer, json, "Content-Length: 2", "Transfer-Encoding: chunked");
    expect(await sendRaw(server.url, `${lengths}0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n`)).toMatch(/^HTTP\/1.1 400 /);
    const twice = head(
      "/session",
      `Host: ${host}`,
      "Host: evil.test",
      bearer,
      json,
      "Connection: close",
      "Content-Length: 2",
    );
    expect(await sendRaw(server.url, `${twice}{}`)).toMatch(/^HTTP\/1.1 400 /);
    for (const target of ["http://evil.test/session", "//evil.test/session", "*"]) {
      const raw = head(target, `Host: ${host}`, bearer, json, "Connection: close", "Content-Length: 2");
      expect(await sendRaw(server.url, `${raw}{}`), target).toMatch(/^HTTP\/1.1 400 /);
    }
    expect((await server.send("GET", "/session")).json).toEqual([]);
  });

  it("does not read the body of a request that it refuses", async () => {
    const server = await startServer();
    const { host } = new URL(server.url);
    const head = `POST /session HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1000\r\nContent-Type: application/json\r\n`;
    expect(await sendRaw(server.url, `${head}\r\n`)).toMatch(/^HTTP\/1.1 401 /);
    expect(await sendRaw(server.url, `${head}Expect: 100-continue\r\n\r\n`)).toMatch(/^HTTP\/1.1 401 /);
  });

  it("redirects only to itself, and ignores options in a link", async () => {
    const server = await startServer();
    const ticket = new URL(server.link).searchParams.get("ticket");
    const open = (path: string, headers = {}): Promise<Answer> => sendTo(server.url, { method: "GET", path, headers });
    for (const path of [
      "//evil.test/?ticket=x",
      `/?ticket=${ticket}&next=//evil.test`,
      `/?ticket=${ticket}&settings=/tmp/evil.json`,
      "/?ticket=",
      "/?prefill=--settings=/tmp/evil.json",
    ])
      expect([400, 401], path).toContain((await open(path)).status);
    const opened = await open(`/?ticket=${ticket}`);
    expect(opened).toMatchObject({ status: 303, headers: { location: "/" } });
    const [cookie = ""] = opened.headers["set-cookie"] ?? [];
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect(await open(`/?ticket=${ticket}`)).toMatchObject({
      status: 401,
      json: { detail: expect.stringMatching(/was already used.* start the server again/) },
    });
    const headers = { Cookie: cookie.split(";", 1).join("") };
    expect(await open(`/?ticket=${ticket}`, headers)).toMatchObject({ status: 303, headers: { location: "/" } });
    for (const path of ["/docs", "/openapi.json"]) expect((await open(path, headers)).status).toBe(200);
    for (const path of ["/session", "/event", "/approval", "/worker"])
      expect((await open(path, headers)).status).toBe(403);
    const posted = { method: "POST", path: "/session", headers, body: {} };
    expect((await sendTo(server.url, posted)).status).toBe(403);
    expect((await open("/docs?token=x")).status).toBe(401);
  });

  it("offers no terminals", async () => {
    const server = await startServer();
    for (const path of ["/pty", "/pty/1/resize", "/session/x/shell"]) {
      expect((await sendTo(server.url, { method: "POST", path, headers: {} })).status).toBe(401);
      expect((await server.send("POST", path, { body: {} })).status).toBe(404);
    }
  });

  it("sends headers that restrict what browsers may do with a page", async () => {
    const server = await startServer();
    for (const path of ["/", "/docs", "/session", "/nothing"]) {
      const { headers } = await server.send("GET", path);
      expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/);
      expect(headers).toMatchObject({ "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" });
    }
  });
});

describe("the server (answers)", () => {
  const bash = (command: string) => said([{ tool: "Bash", input: { command } }]);

  async function asked(commands: readonly string[], settings: object = {}) {
    const at = newPlace();
    const api = await startApi([...commands.map(bash), said("Done.")]);
    mkdirSync(at.home, { recursive: true });
    writeFileSync(join(at.home, "settings.json"), JSON.stringify(settings));
    const server = await startServer({ place: at, api });
    const { id } = await startSession(server, { prompt: "Go." });
    const stream = server.stream(`/session/${id}/event`);
    const request = async (count: number): Promise<string> => {
      await stream.until(() => requestsIn().length >= count);
      return String(requestsIn()[count - 1]?.data["requestId"]);
    };
    const requestsIn = () => stream.events.filter(({ data }) => data.type === "tool_approval_required");
    const answer = (requestId: string, body: object): Promise<Answer> =>
      server.send("POST", `/session/${id}/approval/${requestId}`, { body });
    return { server, stream, id, at, request, answer };
  }

  it("refuses a second answer, even after a newer request", async () => {
    const { stream, at, request, answer } = await asked(["touch one", "touch two"]);
    const first = await request(1);
    expect((await answer(first, { answer: "deny" })).status).toBe(200);
    const second = await request(2);
    expect(await answer(first, { answer: "allow" })).toMatchObject({ status: 409, json: { code: "already_answered" } });
    expect((await answer(first, { answer: "allow" })).text).toMatch(/was already answered by .+: \w+\. Only the first/);
    expect((await answer("ask_000000000000", { answer: "allow" })).status).toBe(404);
    expect((await answer(second, { answer: "deny" })).status).toBe(200);
    await stream.until(({ data }) => data.type === "turn_complete");
    expect(existsSync(join(at.cwd, "one")) || existsSync(join(at.cwd, "two"))).toBe(false);
  });

  it("decides again about an edited input", async () => {
    const settings = { permissions: { deny: ["Bash(touch evil*)"] } };
    const { stream, at, request, answer } = await asked(["touch good"], settings);
    const edited = { answer: "allow", inputJson: '{"command":"touch evil"}' };
    expect((await answer(await request(1), edited)).status).toBe(200);
    await stream.until(({ data }) => data.type === "turn_complete");
    expect(existsSync(join(at.cwd, "evil")) || existsSync(join(at.cwd, "good"))).toBe(false);
  });

  it("keeps a request open when the client disconnects, and shows it to the next client", async () => {
    const { server, stream, id, at, request, answer } = await asked(["touch made"]);
    const requestId = await request(1);
    const after = stream.cursor();
    stream.close();
    await stream.ended;
    expect((await server.send("GET", "/approval")).json).toMatchObject([{ question: { requestId } }]);
    const again = server.stream(`/session/${id}/event?after=${after}`);
    const { data } = await again.until((event) => event.data.type === "session_snapshot");
    expect(data).toMatchObject({ approvals: [{ question: { requestId } }], session: { state: "waiting" } });
    expect(existsSync(join(at.cwd, "made"))).toBe(false);
    expect((await answer(requestId, { answer: "allow" })).status).toBe(200);
    await again.until((event) => event.data.type === "turn_complete");
    expect(existsSync(join(at.cwd, "made"))).toBe(true);
  });

  it("refuses a position from another session", async () => {
    const { server, id, request } = await asked(["touch made"]);
    await request(1);
    for (const given of ["other:5", "-1", "1e3", "999999", "0x10"]) {
      const headers = { "Last-Event-ID": given };
      expect((await server.send("GET", `/session/${id}/event`, { headers })).status, given).toBe(400);
    }
    for (const query of ["after=x", "after=999999", "after=1&after=2", "other=x"])
      expect((await server.send("GET", `/session/${id}/event?${query}`)).status, query).toBe(400);
  });
});

describe("the server (slow clients)", () => {
  it("drops a client that never reads, while the others get everything", async () => {
    const at = newPlace();
    const sessionId = "long";
    const transcript = await createTranscript({ home: at.home, cwd: at.cwd, sessionId, clock: systemClock });
    const message = "word ".repeat(20_000);
    for (let count = 0; count < 200; count += 1)
      await transcript.append("main", [{ type: "notice.raised", code: "test", message }]);
    await transcript.close();
    const server = await startServer({ place: at, limits: { stuckMs: 2_000, streams: 1 } });
    const path = `/session/${sessionId}/event`;
    const reader = server.stream(path);
    await reader.until(({ data }) => data.type === "session_closed");
    await reader.ended;
    const ids = reader.events.flatMap((event) => event.id ?? []);
    expect(ids).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
    const { hostname, port, host } = new URL(server.url);
    const stuck = connect(Number(port), hostname);
    let received = 0;
    stuck.on("error", () => {});
    stuck.pause();
    stuck.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${server.token}\r\n\r\n`);
    // Only one client may read events at a time, so others can connect once the server has disconnected the stuck one.
    const status = async (): Promise<number> => (await server.send("GET", "/event")).status;
    while ((await status()) !== 503);
    while ((await status()) !== 200);
    stuck.on("data", (chunk: Buffer) => {
      received += chunk.length;
    });
    const closed = once(stuck, "close");
    stuck.resume();
    await closed;
    expect(received).toBeLessThan(200 * message.length);
  });
});
