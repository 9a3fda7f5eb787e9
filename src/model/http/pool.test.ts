import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { selfSigned } from "../transport/self-signed.test-support.ts";
import { atEnd } from "../wire.test-support.ts";
import type { ExchangeListener } from "./connection.ts";
import { dialDirectly } from "./dial.ts";
import { createPool, type Pool } from "./pool.ts";

const ok = (body: string, headers = "") => `HTTP/1.1 200 OK\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;

/** A server that gives every request, told apart by their blank line, to the script. */
async function serveRaw(script: (path: string, socket: Socket) => void): Promise<{ url: URL; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => {}));
    let held = "";
    socket.on("data", (bytes) => {
      held += bytes.toString("latin1");
      for (let end = held.indexOf("\r\n\r\n"); end >= 0; end = held.indexOf("\r\n\r\n")) {
        const path = /^GET (\S+)/.exec(held)?.[1] ?? "";
        held = held.slice(end + 4);
        script(path, socket);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(() => resolve()));
  });
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), sockets };
}

function poolTo(url: URL, most = 10): Pool {
  const pool = createPool({ dial: dialDirectly(url, {}), most });
  atEnd(() => pool.close());
  return pool;
}

const bytesOf = (path: string) => ({ head: `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`, body: [] });

type End = { body: string; isComplete: boolean } | { code: string | undefined; isStale: boolean };

function ask(pool: Pool, path: string, more: Partial<ExchangeListener> = {}) {
  let body = "";
  let exchange: ReturnType<Pool["send"]> | undefined;
  const ended = new Promise<End>((resolve) => {
    exchange = pool.send(bytesOf(path), {
      began() {},
      gone() {},
      head() {},
      data(bytes) {
        body += bytes.toString("latin1");
      },
      end: (isComplete) => resolve({ body, isComplete }),
      failed: ({ code }, isStale) => resolve({ code, isStale }),
      ...more,
    });
  });
  return { ended, drop: () => exchange?.drop(), letGo: () => exchange?.letGo() };
}

describe("connections to one address", () => {
  it("are used again, and the one used last first", async () => {
    const { url, sockets } = await serveRaw((path, socket) => socket.write(ok(path)));
    const pool = poolTo(url);
    expect(await Promise.all([ask(pool, "/1").ended, ask(pool, "/2").ended])).toEqual([
      { body: "/1", isComplete: true },
      { body: "/2", isComplete: true },
    ]);
    for (const path of ["/3", "/4"]) expect(await ask(pool, path).ended).toEqual({ body: path, isComplete: true });
    expect(sockets).toHaveLength(2);
  });

  it("are never more than the most; who waits comes in order, and not at all when it was dropped", async () => {
    const paths: string[] = [];
    const { url, sockets } = await serveRaw((path, socket) => {
      paths.push(path);
      setImmediate(() => socket.write(ok(path)));
    });
    const pool = poolTo(url, 2);
    const began: string[] = [];
    const all = ["/1", "/2", "/3", "/4", "/5"].map((path) => ask(pool, path, { began: () => began.push(path) }));
    expect(began).toEqual(["/1", "/2"]);
    all[3]?.drop();
    await Promise.all([0, 1, 2, 4].map((index) => all[index]?.ended));
    expect(sockets).toHaveLength(2);
    expect(paths.toSorted()).toEqual(["/1", "/2", "/3", "/5"]);
    expect(began).toEqual(["/1", "/2", "/3", "/5"]);
  });

  it("make room for who waits when one breaks", async () => {
    const { url } = await serveRaw((path, socket) => (path === "/1" ? socket.destroy() : socket.write(ok(path))));
    const pool = poolTo(url, 1);
    const [first, second] = [ask(pool, "/1"), ask(pool, "/2")];
    expect(await first.ended).toEqual({ code: "ECONNRESET", isStale: false });
    expect(await second.ended).toEqual({ body: "/2", isComplete: true });
  });

  it.each([
    ["the server keeps them no longer than it takes to say so", ok("x", "keep-alive: timeout=1\r\n")],
    ["the server says so", ok("x", "connection: close\r\n")],
    ["something came that nobody asked for", `${ok("x")}HTTP/1.1 408 Timeout\r\n\r\n`],
  ])("are not used again when %s", async (_, said) => {
    const { url, sockets } = await serveRaw((_path, socket) => socket.write(said));
    const pool = poolTo(url);
    await ask(pool, "/1").ended;
    await ask(pool, "/2").ended;
    expect(sockets).toHaveLength(2);
  });

  it("that the server closed before it saw a request are stale", async () => {
    const { url } = await serveRaw((path, socket) => (path === "/1" ? socket.write(ok(path)) : socket.destroy()));
    const pool = poolTo(url);
    await ask(pool, "/1").ended;
    expect(await ask(pool, "/2").ended).toEqual({ code: "ECONNRESET", isStale: true });
    expect(await ask(pool, "/3").ended).toEqual({ code: "ECONNRESET", isStale: false });
  });

  it("say that an answer was cut, and that it is none", async () => {
    const { url } = await serveRaw((path, socket) => {
      if (path === "/cut") socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf");
      else socket.write("220 mail.test ESMTP\r\n");
    });
    const pool = poolTo(url);
    expect(await ask(pool, "/cut").ended).toEqual({ body: "half", isComplete: false });
    expect(await ask(pool, "/mail").ended).toEqual({ code: "HPE_INVALID_CONSTANT", isStale: false });
  });

  it("are let go of before the end of an answer, and kept when that comes", async () => {
    const { url, sockets } = await serveRaw((path, socket) =>
      socket.write(path === "/1" ? "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nen" : ok(path)),
    );
    const pool = poolTo(url, 1);
    await new Promise<void>((resolve) => {
      const first = ask(pool, "/1", {
        data() {
          first.letGo();
          resolve();
        },
      });
    });
    const second = ask(pool, "/2");
    sockets[0]?.write("ds");
    expect(await second.ended).toEqual({ body: "/2", isComplete: true });
    expect(sockets).toHaveLength(1);
  });

  it("that were let go of are closed with all others nobody waits for", async () => {
    const { url, sockets } = await serveRaw((path, socket) =>
      socket.write(path === "/1" ? "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nen" : ok(path)),
    );
    const pool = poolTo(url);
    const first = ask(pool, "/1", { data: () => first.letGo() });
    await ask(pool, "/2").ended;
    const closed = sockets.map((socket) => once(socket, "close"));
    pool.close();
    await Promise.all(closed);
  });

  it("begin with what an earlier one agreed on, where they are secure", async () => {
    const { key, cert } = selfSigned("localhost");
    const reused: boolean[] = [];
    const server = createTlsServer({ key, cert }, (socket: TLSSocket) => {
      reused.push(socket.isSessionReused());
      socket.on("error", () => {}).once("data", () => socket.end(ok("secret", "connection: close\r\n")));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    atEnd(() => new Promise((resolve) => server.close(() => resolve())));
    const url = new URL(`https://localhost:${(server.address() as AddressInfo).port}`);
    const pool = createPool({ dial: dialDirectly(url, { trusted: cert }), most: 4 });
    for (const path of ["/1", "/2"]) expect(await ask(pool, path).ended).toEqual({ body: "secret", isComplete: true });
    expect(reused).toEqual([false, true]);
    const strange = createPool({ dial: dialDirectly(url, {}), most: 4 });
    expect(await ask(strange, "/3").ended).toEqual({ code: "DEPTH_ZERO_SELF_SIGNED_CERT", isStale: false });
  });
});
