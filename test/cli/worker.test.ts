import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/app/index.ts";
import { createWorkerHub, type RemoteWorker } from "../../src/link/index.ts";
import { everything, openOn, startServer, toolCall } from "../../src/link/link.test-support.ts";
import { needs } from "../../src/testing/needs.test-support.ts";
import {
  createPlace,
  ended,
  type Place,
  retinue,
  retinueProcess,
  type StartOptions,
  startRetinue,
} from "./command-line.ts";

const token = { RETINUE_TOKEN: "secret" };

function start(words: readonly string[], options: StartOptions) {
  const child = startRetinue(["worker", ...words], options);
  return { child, ended: ended(child) };
}

describe("retinue worker", () => {
  it("serves its directory, and when stopped, ends everything that it started", async () => {
    const place = createPlace();
    mkdirSync(place.home, { recursive: true });
    // In a sandbox, processes have different ids.
    writeFileSync(join(place.home, "settings.json"), '{"sandbox": "off"}');
    const server = await startServer();
    const connected = server.next("connected");
    const url = `http://127.0.0.1:${server.port}`;
    const worker = start(["--server", url, "--name", "box"], { ...place, environment: token });
    const remote = await connected;
    expect(remote.name).toBe("box");
    expect(remote.describe().root).toBe(place.cwd);
    const session = await openOn(remote, { sessionId: "cli-worker-1" });
    const call = toolCall("c1", "Bash", { command: "echo $$ > pid; echo $RETINUE_TOKEN > token; sleep 600" });
    const result = session
      .executor(place.cwd)
      .execute({ agentId: "main", call, policy: everything }, () => {}, new AbortController().signal);
    while (!existsSync(join(place.cwd, "token"))) await new Promise((resolve) => setTimeout(resolve, 10));
    const pid = Number(readFileSync(join(place.cwd, "pid"), "utf8"));
    expect(readFileSync(join(place.cwd, "token"), "utf8")).toBe("\n");
    worker.child.kill("SIGTERM");
    const { code, stderr, stdout } = await worker.ended;
    expect([code, stdout, stderr]).toEqual([
      143,
      "",
      `retinue: Connected to ${url} as worker "box" for ${place.cwd}.\nretinue: Stopping. This worker's sessions will continue when it is restarted.\n`,
    ]);
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    server.hub.close();
    expect((await result).outcome).toMatch(/cancelled|unknown/);
  });

  it.each([
    [[], {}, "A worker needs the address of its server. Pass --server with the URL"],
    [["--server", "http://127.0.0.1:1"], {}, "A worker needs a token. Set RETINUE_TOKEN, or pass --token-file FILE."],
    [["--server", "http://192.0.2.1"], token, "would not be encrypted, so others could read the token. Use https://."],
    [["--server", "http://127.0.0.1:1"], { RETINUE_TOKEN: "a b" }, "RETINUE_TOKEN is not a token. It must contain"],
    [["--server", "nowhere"], token, '"nowhere" is not an address.'],
    [["--server", "http://127.0.0.1:1", "--cwd", "gone"], token, "gone does not exist. Check --cwd."],
    [["--server", "http://127.0.0.1:1", "--name", "a/b"], token, `A worker can't be named "a/b"`],
    [
      ["--server", "http://127.0.0.1:1", "--token-file", "gone"],
      {},
      "--token-file can't be read: gone (ENOENT). Check the path.",
    ],
    [
      ["--server", "https://127.0.0.1:1", "--ca", import.meta.filename],
      token,
      "does not contain a certificate. Pass a file in PEM format.",
    ],
  ])("explains what is wrong with %j", async (words, environment, message) => {
    const { code, stderr, stdout } = await retinue(["worker", ...words], { ...createPlace(), environment });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  it("ends if the server refuses its token, or its directory is gone", async () => {
    const place = createPlace();
    const server = await startServer();
    const url = `http://127.0.0.1:${server.port}`;
    writeFileSync(join(place.home, "..", "token.txt"), "wrong\n");
    const wrong = ["worker", "--server", url, "--token-file", "../token.txt"];
    const refused = await retinueProcess(wrong, place);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      `retinue: ${url} refused the token. Use the one in the worker-token file in the server's state directory.\n`,
    ]);
    const encrypted = await retinueProcess(["worker", "--server", url.replace("http", "https")], {
      ...place,
      environment: token,
    });
    expect([encrypted.code, encrypted.stderr]).toEqual([
      2,
      `retinue: ${url.replace("http", "https")} does not use encryption. Check the address. It may need to begin with http://.\n`,
    ]);
    const misdirected = createHttpServer().on(
      "upgrade",
      (_, socket) => void socket.end("HTTP/1.1 421 Refused\r\n\r\n"),
    );
    onTestFinished(() => void misdirected.close());
    await once(misdirected.listen(0, "127.0.0.1"), "listening");
    const named = `http://localhost:${(misdirected.address() as AddressInfo).port}`;
    const unknown = await retinueProcess(["worker", "--server", named], { ...place, environment: token });
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      `retinue: ${named} does not accept this host name. Start the server with --allow-host localhost.\n`,
    ]);
    const connected = server.next("connected");
    const worker = start(["--server", url], { ...place, environment: token });
    await connected;
    rmSync(place.cwd, { recursive: true });
    const { code, stderr } = await worker.ended;
    expect([code, stderr.split("\n").at(-2)]).toEqual([
      2,
      `retinue: The directory ${place.cwd} no longer exists. Create it again and start the worker, or choose another one with --cwd.`,
    ]);
  });

  it("warns if its token is in the directory that it offers", async () => {
    const place = createPlace();
    const file = join(place.cwd, "token");
    writeFileSync(file, "secret\n");
    const worker = start(["--server", "http://127.0.0.1:9", "--token-file", file], place);
    const [said] = await once(worker.child.stderr, "data");
    expect(String(said)).toContain(`Agents can read the token: ${file} is in the worker's directory.`);
    worker.child.kill("SIGTERM");
    expect((await worker.ended).code).toBe(143);
  });

  it("connects to an encrypted server", needs("openssl"), async () => {
    const place = createPlace();
    const { remote, worker } = await connectEncrypted(place);
    expect(remote.state).toBe("connected");
    worker.child.kill("SIGINT");
    expect((await worker.ended).code).toBe(130);
  });
});

async function connectEncrypted(place: Place) {
  const [key, cert] = [join(place.home, "../key.pem"), join(place.home, "../cert.pem")];
  const words = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"];
  const names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  execFileSync("openssl", ["req", ...words, ...names, "-keyout", key, "-out", cert], { stdio: "ignore" });
  const hub = createWorkerHub({ version: "1.0.0", clock: systemClock });
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) });
  server.on("upgrade", hub.accept);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    await hub.close();
    server.close();
  });
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  const untrusted = start(["--server", url], { ...place, environment: token });
  const [said] = await once(untrusted.child.stderr, "data");
  expect(String(said)).toMatch(/can't be reached: .*self.signed.*Pass the server's certificate authority with --ca/);
  untrusted.child.kill("SIGTERM");
  await untrusted.ended;
  const connected = new Promise<RemoteWorker>((resolve) => hub.onChange(resolve));
  const worker = start(["--server", url, "--ca", cert], { ...place, environment: token });
  return { remote: await connected, worker };
}
