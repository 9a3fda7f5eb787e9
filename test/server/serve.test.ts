import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { get } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parseServe } from "../../src/cli/commands/serve.ts";
import type { SessionInfo } from "../../src/protocol/index.ts";
import { said, sendTo, updateOf } from "../../src/server/server.test-support.ts";
import { createPlace, ended, retinue, retinueProcess, serve, spawnRetinue, startRetinue } from "../cli/command-line.ts";
import { serveProcess } from "./serve-process.ts";

/** Started before the other tests, because the commands wait for an answer for ten seconds. */
let silent: Awaited<ReturnType<typeof askSilentServer>>;
beforeAll(async () => {
  silent = await askSilentServer();
});
afterAll(() => silent.close());

async function askSilentServer() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "retinue-silent-")));
  const place = { cwd: base, home: join(base, "home") };
  const session = { id: "01m7silent", worker: "w", cwd: base, state: "running", updatedAt: 1, turns: 1 };
  const http = createServer((request, response) => {
    // Other requests are never answered, as if the process were suspended.
    if (request.url === "/session") response.end(JSON.stringify([{ ...session, approvals: 0 }]));
  });
  await once(http.listen(0, "127.0.0.1"), "listening");
  const server = ["--server", `http://127.0.0.1:${(http.address() as AddressInfo).port}`];
  const commands = [
    spawnRetinue(["approvals", "list", ...server], place),
    spawnRetinue(["message", session.id, "Hi", ...server], place),
  ] as const;
  const answers = Promise.all(commands.map(ended));
  return {
    answers,
    close: () => {
      for (const child of commands) child.kill("SIGKILL");
      http.closeAllConnections();
      http.close();
      rmSync(base, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

describe("retinue serve", () => {
  it("prints the link, the served directories and the token's file, and ends on a signal", async () => {
    const place = createPlace();
    const child = startRetinue(["serve", "--port", "0"], place);
    let printed = "";
    for await (const chunk of child.stdout) {
      printed += String(chunk);
      if (printed.includes("server.json")) child.kill("SIGTERM");
    }
    expect(printed).toMatch(/^Serving on http:\/\/127\.0\.0\.1:\d+\n {2}work {2}/);
    expect(printed).toMatch(/\n {2}http:\/\/127\.0\.0\.1:\d+\/\?ticket=[\w-]{43}#[\w-]{43}\n/);
    expect(printed).toContain(join(place.home, "server.json"));
    expect(existsSync(join(place.home, "server.json"))).toBe(false);
  });

  it("says in one sentence why it can't start", async () => {
    const place = createPlace();
    const taken = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void taken.close());
    await new Promise((resolve) => taken.once("listening", resolve));
    const port = String((taken.address() as AddressInfo).port);
    const file = join(place.cwd, "not-a-directory");
    writeFileSync(file, "");
    const { privateKey } = generateKeyPairSync("ed25519");
    writeFileSync(join(place.cwd, "key.pem"), privateKey.export({ type: "pkcs8", format: "pem" }));
    const starts: [readonly string[], RegExp, Record<string, string>?][] = [
      [["--port", port], /^retinue: Port \d+ is already in use.*--port 0/],
      [["--tls-cert", "none.pem", "--tls-key", "none.pem"], /^retinue: --tls-cert can't be read: none\.pem/],
      [["--tls-cert", "key.pem", "--tls-key", "key.pem"], /^retinue: --tls-cert does not contain a certificate\. /],
      [["--tls-cert", "none.pem"], /^retinue: --tls-cert and --tls-key must be used together/],
      [["--host", "0.0.0.0"], /^retinue: Without TLS.*--tls-cert/],
      [["--project", "nowhere"], /^retinue: The directory \/.*\/nowhere does not exist\. Check --project\.$/m],
      [["--port", "x"], /^retinue: --port can't be "x"/],
      [["--allow-origin", "app.test"], /^retinue: --allow-origin can't be/],
      [["--allow-host", "*"], /^retinue: --allow-host can't be "\*"/],
      [["shop"], /^retinue: "serve" does not accept "shop"/],
      [[], /^retinue: The state directory .*not a directory/, { RETINUE_HOME: join(file, "home") }],
      [[], /^retinue: A command run by an agent can't start a server/, { RETINUE_CALL_ID: "c1" }],
    ];
    for (const [index, [words, message, environment = {}]] of starts.entries()) {
      // The first case runs in a separate process, to check that the process exits.
      const start = index === 0 ? retinueProcess : retinue;
      const { code, stderr } = await start(["serve", ...words], { ...place, environment });
      expect(stderr).toMatch(message);
      expect(stderr.trim().split("\n")).toHaveLength(1);
      expect(code, stderr).toBe(environment["RETINUE_CALL_ID"] === undefined ? 2 : 1);
    }
  });

  it("encrypts its traffic if it has a certificate", async ({ skip }) => {
    const place = createPlace();
    const [key, cert] = [join(place.cwd, "key.pem"), join(place.cwd, "cert.pem")];
    const words = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
    const made = spawnSync("openssl", ["req", ...words, ...subject, "-keyout", key, "-out", cert], { stdio: "ignore" });
    if (made.status !== 0) skip("openssl is missing");
    const server = await serveProcess(place, ["--tls-cert", cert, "--tls-key", key]);
    expect(server.url).toMatch(/^https:/);
    const headers = { Authorization: `Bearer ${server.token}`, Origin: server.url };
    const request = get(`${server.url}/session`, { headers, ca: readFileSync(cert), agent: false });
    const [response] = await once(request, "response");
    expect(response.statusCode).toBe(200);
    response.destroy();
    await server.end("SIGTERM");
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const other = join(place.cwd, "other.pem");
    for (const [text, message] of [
      [publicKey.export({ type: "spki", format: "pem" }), "--tls-key does not contain an unencrypted private key."],
      [privateKey.export({ type: "pkcs8", format: "pem" }), "The key in --tls-key does not match the certificate"],
    ] as const) {
      writeFileSync(other, text);
      const { code, stderr } = await retinueProcess(["serve", "--tls-cert", cert, "--tls-key", other], place);
      expect(code, stderr).toBe(2);
      expect(stderr).toContain(message);
    }
    expect(parseServe(["--tls-cert", "c.pem", "--tls-key", "k.pem", "--no-resume"])).toMatchObject({
      port: 7333,
      resume: false,
    });
  });

  it("does not serve sessions in other directories", async () => {
    const place = createPlace();
    const other = join(place.cwd, "../other");
    mkdirSync(other);
    await retinue(["-p", "Map this repository"], { ...place, cwd: other });
    const server = await serveProcess(place);
    expect((await server.send("GET", "/session")).json).toEqual([]);
    await server.end("SIGTERM");
    const both = await serveProcess(place, ["--project", place.cwd, "--project", other]);
    expect((await both.send("GET", "/session")).json).toMatchObject([{ worker: "other", state: "ended" }]);
    await both.end("SIGTERM");
  });
});

describe("a terminal's session", () => {
  it("is listed, watched, steered and answered through the server", async () => {
    const place = createPlace();
    const api = await serve([
      said([{ tool: "Bash", input: { command: "mkdir one" } }]),
      said([{ tool: "Bash", input: { command: "mkdir two" } }]),
      said("Done."),
    ]);
    const server = await serveProcess({ ...place, server: api });
    const all = server.stream("/event");
    await all.until(({ data }) => data.type === "server_snapshot");
    const run = startRetinue(["-p", "Go.", "--on-ask", "wait"], { ...place, server: api });
    run.stdin.end();
    const requests = () => all.events.filter(({ data }) => data.type === "approval_requested");
    await all.until(() => requests().length > 0);
    const [session] = (await server.send("GET", "/session")).json as SessionInfo[];
    expect(session).toMatchObject({ elsewhere: true, state: "waiting", approvals: 1, title: "Go." });
    const path = `/session/${session?.id}`;
    const stream = server.stream(`${path}/event`);
    const { data } = await stream.until((event) => event.data.type === "session_snapshot");
    const [approval] = data["approvals"] as { question: { requestId: string } }[];
    expect((await server.send("DELETE", path)).status).toBe(409);
    const message = await server.send("POST", `${path}/message`, { prompt: "Be quick.", id: "m1" });
    expect(message.json, message.text).toMatchObject({ commandId: "m1", status: "done" });
    const answer = await server.send("POST", `${path}/approval/${approval?.question.requestId}`, { answer: "allow" });
    expect(answer, answer.text).toMatchObject({ status: 200, json: { status: "done" } });
    await all.until(() => requests().length > 1);
    const stop = await server.send("POST", `${path}/command`, { id: "s1", type: "stop", what: "tree" });
    expect(stop.json).toMatchObject({ status: "done", message: expect.stringContaining("Stopped the main agent") });
    expect((await stream.until((event) => event.data.type === "session_closed")).data["reason"]).toBe("ended");
    expect(existsSync(join(place.cwd, "one"))).toBe(true);
    expect(existsSync(join(place.cwd, "two"))).toBe(false);
    const prompts = stream.events.map(updateOf).filter((update) => update?.event.type === "prompt.received");
    expect(JSON.stringify(prompts)).toContain("Be quick.");
    expect((await server.send("GET", path)).json).toMatchObject({ state: "ended", outcome: "stopped" });
    await server.end("SIGTERM");
  });

  it("can be resumed in a terminal after the server has closed it", async () => {
    const place = createPlace();
    const api = await serve([said("One."), said("Two.")]);
    const server = await serveProcess({ ...place, server: api });
    const { id } = (await server.send("POST", "/session", { prompt: "First" })).json as SessionInfo;
    await server.stream(`/session/${id}/event`).until(({ data }) => data.type === "turn_complete");
    expect(await server.end("SIGINT")).toBe(0);
    const { stdout, code } = await retinueProcess(["-p", "Second", "--resume", id], { ...place, server: api });
    expect({ stdout: stdout.trim(), code }).toEqual({ stdout: "Two.", code: 0 });
  });
});

describe("the token for other programs", () => {
  it("is read by clients from server.json", async () => {
    const place = createPlace();
    const server = await serveProcess(place);
    chmodSync(server.file, 0o600);
    const { url, token, pid } = JSON.parse(readFileSync(server.file, "utf8"));
    expect(pid).toBe(server.child.pid);
    const headers = { Authorization: `Bearer ${token}` };
    expect((await sendTo(url, { method: "GET", path: "/session", headers })).status).toBe(200);
    await server.end("SIGTERM");
  });
});

describe("the command line", () => {
  it("distinguishes idle from working sessions, and includes the server in the commands that it suggests", async () => {
    const place = createPlace();
    const server = await serveProcess(place);
    const option = ["--server", server.url];
    const run = async (...words: string[]) => {
      const { stdout, stderr } = await retinue(words, place);
      return stdout + stderr;
    };
    const { id } = (await server.send("POST", "/session", {})).json as SessionInfo;
    for (const words of [
      ["sessions", "list"],
      ["sessions", "list", ...option],
    ])
      expect(await run(...words)).toMatch(new RegExp(`${id} .* idle `));
    expect(await run("message", "zzzz", "hi", ...option)).toContain(
      `(retinue sessions list --all --server ${server.url})`,
    );
    expect(await run("message", id, "Where is x defined?", ...option)).toContain("The main agent has started.");
    await server.stream(`/session/${id}/event`).until(({ data }) => data.type === "turn_complete");
    expect(await run("sessions", "list", ...option)).toMatch(new RegExp(`${id} .* idle `));
    const added = await run("schedule", "add", "hourly", "-p", "x", "--max-cost", "1");
    expect(added).toContain(`The server at ${server.url} runs it.`);
    const [, schedule = ""] = /schedule (\w+)/.exec(added) ?? [];
    expect(await run("schedule", "run", schedule)).toBe(
      `The server at ${server.url} will start schedule ${schedule} (hourly) within 15 seconds.\n`,
    );
    expect(await run("schedule", "add", "hourly", "-p", "x", "--cwd", place.home)).toContain(
      `The server at ${server.url} does not serve its directory. Start it again with --project ${place.home}.`,
    );
    await server.end("SIGTERM");
    expect(await run("sessions", "list", "--json")).toContain('"isIdle": false');
    expect(await run("ps", ...option)).toMatch(
      /^retinue: The server at .* can't be reached \(ECONNREFUSED\)\. Check that it is running/,
    );
  });

  it("says that a server does not answer, and that it has not confirmed a message", async () => {
    const [listed, sent] = await silent.answers;
    expect(listed).toMatchObject({ code: 3, stderr: expect.stringContaining("has not answered within 10 seconds") });
    expect(sent).toMatchObject({ code: 3 });
    expect(`${sent?.stdout}${sent?.stderr}`).toContain("The message was sent, but is not confirmed.");
  });
});
