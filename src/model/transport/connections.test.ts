import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { atEnd } from "../wire.test-support.ts";
import { selfSigned } from "./self-signed.test-support.ts";

const root = mkdtempSync(join(tmpdir(), "retinue-connections-"));
const program = join(root, "send-requests.mjs");
beforeAll(async () => {
  const entryPoints = [join(import.meta.dirname, "send-requests.test-support.ts")];
  await build({ entryPoints, outfile: program, bundle: true, platform: "node", format: "esm" });
});
afterAll(() => rmSync(root, { recursive: true }));
const run = promisify(execFile);

interface Sending {
  readonly url: string;
  readonly count: number;
  readonly limits?: string;
  readonly environment?: NodeJS.ProcessEnv;
}

/** Sends requests from a separate process. Resolves when that process has ended on its own. */
async function sendInProcess({ url, count, limits = "true", environment }: Sending): Promise<string[]> {
  const command = [process.execPath, program, url, String(count)];
  const options = { env: { ...process.env, ...environment } };
  const { stdout } = await run("sh", ["-c", `${limits}; exec "$0" "$@"`, ...command], options);
  return JSON.parse(stdout);
}

/** Starts a server that never closes idle connections. */
async function listen(server: Server & { keepAliveTimeout: number }) {
  server.keepAliveTimeout = 0;
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(() => resolve()));
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

describe("the connections of a process", () => {
  it("are opened for all requests at once, and do not keep the process alive while idle", async () => {
    const waiting: (() => void)[] = [];
    const server = createServer((_, response) => {
      waiting.push(() => response.end("x"));
      if (waiting.length === 64) for (const answer of waiting) answer();
    });
    const { port, sockets } = await listen(server);
    const outcomes = await sendInProcess({ url: `http://127.0.0.1:${port}`, count: 64 });
    expect(outcomes).toEqual(Array(64).fill("status 200"));
    expect(sockets.size).toBe(64);
  });

  it("wait for a free file descriptor if there are too few", async () => {
    const server = createServer((_, response) => void setTimeout(() => response.end("x"), 10));
    const { port, sockets } = await listen(server);
    const limits = "ulimit -n 128";
    const outcomes = await sendInProcess({ url: `http://127.0.0.1:${port}`, count: 300, limits });
    expect(outcomes).toEqual(Array(300).fill("status 200"));
    expect(sockets.size).toBeLessThan(128);
  });

  it("trust the authorities in NODE_EXTRA_CA_CERTS", async () => {
    const identity = selfSigned("localhost");
    const { port } = await listen(createTlsServer(identity, (_, response) => void response.end("x")));
    const directory = mkdtempSync(join(tmpdir(), "retinue-ca-"));
    atEnd(() => rmSync(directory, { recursive: true }));
    const file = join(directory, "ca.pem");
    writeFileSync(file, identity.cert);
    const url = `https://localhost:${port}`;
    expect(await sendInProcess({ url, count: 2, environment: { NODE_EXTRA_CA_CERTS: file } })).toEqual([
      "status 200",
      "status 200",
    ]);
    expect(await sendInProcess({ url, count: 1 })).toEqual(["DEPTH_ZERO_SELF_SIGNED_CERT"]);
  });
});
