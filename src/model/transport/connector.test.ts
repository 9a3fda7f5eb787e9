import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { atEnd } from "../wire.test-support.ts";
import { type Connector, createConnector, type ExchangeListener, type HttpRequest } from "./connector.ts";
import { selfSigned } from "./self-signed.test-support.ts";

const ok = (body: string, headers = "") => `HTTP/1.1 200 OK\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;

/** Starts a server that passes the head of each request to the script. */
async function serveRaw(script: (path: string, socket: Socket, head: string) => void) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => {}));
    let held = "";
    socket.on("data", (bytes) => {
      held += bytes.toString("latin1");
      for (let end = held.indexOf("\r\n\r\n"); end >= 0; end = held.indexOf("\r\n\r\n")) {
        const head = held.slice(0, end);
        held = held.slice(end + 4);
        script(/^\w+ (\S+)/.exec(head)?.[1] ?? "", socket, head);
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

async function connectorTo(url: URL, { maxConnections = 10, trusted = undefined as string | undefined } = {}) {
  const connector = await createConnector(url, { proxy: undefined, maxConnections, trusted });
  atEnd(() => connector.close());
  return Object.assign(connector, { url });
}

type End = { readonly body: string; readonly isComplete: boolean } | { readonly code: string | undefined };

function ask(
  connector: Connector & { readonly url: URL },
  path: string,
  { request, ...more }: Partial<ExchangeListener> & { readonly request?: Partial<HttpRequest> } = {},
) {
  let body = "";
  let exchange: ReturnType<Connector["send"]> | undefined;
  const ended = new Promise<End>((resolve) => {
    const url = new URL(path, connector.url);
    exchange = connector.send(
      { method: "GET", url, headers: {}, body: [], ...request },
      {
        began() {},
        sent() {},
        head() {},
        data(bytes) {
          body += bytes.toString("latin1");
        },
        end: (isComplete) => resolve({ body, isComplete }),
        failed: ({ code }) => resolve({ code }),
        ...more,
      },
    );
  });
  return { ended, drop: () => exchange?.drop(), letGo: () => exchange?.letGo() };
}

describe("connections to one origin", () => {
  it("are reused, most recently used first", async () => {
    const served: [string, Socket][] = [];
    const { url, sockets } = await serveRaw((path, socket) => {
      served.push([path, socket]);
      socket.write(ok(path));
    });
    const connector = await connectorTo(url);
    const both = await Promise.all([ask(connector, "/1").ended, ask(connector, "/2").ended]);
    expect(both).toEqual(["/1", "/2"].map((body) => ({ body, isComplete: true })));
    for (const path of ["/3", "/4"]) expect(await ask(connector, path).ended).toEqual({ body: path, isComplete: true });
    expect(sockets).toHaveLength(2);
    const socketOf = (path: string) => served.find(([each]) => each === path)?.[1];
    expect(socketOf("/3")).toBe(socketOf("/4"));
  });

  it("are reused even after an error", async () => {
    const { url, sockets } = await serveRaw((_, socket) =>
      socket.write("HTTP/1.1 429 No\r\ncontent-length: 2\r\n\r\nno"),
    );
    const connector = await connectorTo(url);
    for (const path of ["/1", "/2"]) {
      await new Promise<void>((resolve) => {
        const exchange = ask(connector, path, {
          end() {
            exchange.drop();
            resolve();
          },
        });
      });
    }
    expect(sockets).toHaveLength(1);
  });

  it("are opened for all requests up to the limit; further requests wait in order, or are cancelled", async () => {
    const paths: string[] = [];
    const { url, sockets } = await serveRaw((path, socket) => {
      paths.push(path);
      setImmediate(() => socket.write(ok(path)));
    });
    const connector = await connectorTo(url, { maxConnections: 2 });
    const began: string[] = [];
    const all = ["/1", "/2", "/3", "/4", "/5"].map((path) => ask(connector, path, { began: () => began.push(path) }));
    expect(began).toEqual(["/1", "/2"]);
    all[3]?.drop();
    await Promise.all([0, 1, 2, 4].map((index) => all[index]?.ended));
    expect(sockets).toHaveLength(2);
    expect(paths.toSorted()).toEqual(["/1", "/2", "/3", "/5"]);
    expect(began).toEqual(["/1", "/2", "/3", "/5"]);
  });

  it("make room for waiting requests if one of them breaks or can't be opened", async () => {
    const { url } = await serveRaw((path, socket) => (path === "/1" ? socket.destroy() : socket.write(ok(path))));
    const connector = await connectorTo(url, { maxConnections: 1 });
    const first = ask(connector, "/1");
    const second = ask(connector, "/2", { request: { headers: { "x-bad": "a\nb" } } });
    const third = ask(connector, "/3");
    expect(await first.ended).toEqual({ code: "ECONNRESET" });
    expect(await second.ended).toEqual({ code: "ERR_INVALID_CHAR" });
    expect(await third.ended).toEqual({ body: "/3", isComplete: true });
  });

  it.each([
    ["the server closes them within a second", ok("x", "keep-alive: timeout=1\r\n")],
    ["the server says so", ok("x", "connection: close\r\n")],
    ["an unrequested response arrived", `${ok("x")}HTTP/1.1 408 Timeout\r\n\r\n`],
  ])("are not reused if %s", async (_, said) => {
    const { url, sockets } = await serveRaw((_path, socket) => socket.write(said));
    const connector = await connectorTo(url);
    await ask(connector, "/1").ended;
    await ask(connector, "/2").ended;
    expect(sockets).toHaveLength(2);
  });

  it("that the server has closed are replaced immediately, without trying another idle one", async () => {
    const used = new Set<Socket>();
    const { url, sockets } = await serveRaw((path, socket) => {
      if (used.has(socket)) socket.resetAndDestroy();
      else socket.write(ok(path));
      used.add(socket);
    });
    const connector = await connectorTo(url);
    await Promise.all(["/1", "/2", "/3"].map((path) => ask(connector, path).ended));
    const closed = sockets.map((socket) => once(socket, "close"));
    expect(await ask(connector, "/4").ended).toEqual({ body: "/4", isComplete: true });
    await Promise.all(closed);
    expect(sockets).toHaveLength(4);
  });

  it("fail if they break in the middle of the response", async () => {
    let requests = 0;
    const { url } = await serveRaw((path, socket) => {
      requests += 1;
      if (path === "/1") socket.write(ok(path));
      else socket.end("HTTP/1.1 200 OK\r\ncontent-");
    });
    const connector = await connectorTo(url);
    await ask(connector, "/1").ended;
    expect(await ask(connector, "/2").ended).toEqual({ code: "ECONNRESET" });
    expect(requests).toBe(2);
  });

  it.each([
    ["by length", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"],
    ["by chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
  ])("report a truncated response, %s", async (_, said) => {
    const { url } = await serveRaw((_path, socket) => socket.end(said));
    expect(await ask(await connectorTo(url), "/").ended).toEqual({ body: "half", isComplete: false });
  });

  it("report a response without a length as truncated if the connection is reset", async () => {
    const { url, sockets } = await serveRaw((_path, socket) => socket.write("HTTP/1.1 200 OK\r\n\r\nhalf"));
    const asked = ask(await connectorTo(url), "/", { data: () => sockets[0]?.resetAndDestroy() });
    expect(await asked.ended).toMatchObject({ isComplete: false });
  });

  it.each([
    ["HPE_INVALID_CONSTANT", "220 mail.test ESMTP\r\n"],
    ["HPE_HEADER_OVERFLOW", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(70_000)}\r\n\r\n`],
    ["HPE_INVALID_CHUNK_SIZE", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n"],
  ])("fail with %s", async (code, said) => {
    const { url } = await serveRaw((_path, socket) => socket.write(said));
    expect(await ask(await connectorTo(url), "/").ended).toEqual({ code });
  });

  it("fail if the server switches protocols", async () => {
    const { url } = await serveRaw((_path, socket) =>
      socket.write("HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
    );
    expect(await ask(await connectorTo(url), "/").ended).toEqual({ code: "ECONNRESET" });
  });

  it("accept a head of 60 kB", async () => {
    const { url } = await serveRaw((path, socket) => socket.write(ok(path, `x: ${"y".repeat(60_000)}\r\n`)));
    expect(await ask(await connectorTo(url), "/1").ended).toEqual({ body: "/1", isComplete: true });
  });

  it("may be released before the response ends, and are kept if it ends soon", async () => {
    const { url, sockets } = await serveRaw((path, socket) =>
      socket.write(path === "/1" ? "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nen" : ok(path)),
    );
    const connector = await connectorTo(url, { maxConnections: 1 });
    await new Promise<void>((resolve) => {
      const first = ask(connector, "/1", {
        data() {
          first.letGo();
          resolve();
        },
      });
    });
    const second = ask(connector, "/2");
    sockets[0]?.write("ds");
    expect(await second.ended).toEqual({ body: "/2", isComplete: true });
    expect(sockets).toHaveLength(1);
  });

  it("are closed after their release if the response does not end", async () => {
    const { url, sockets } = await serveRaw((_path, socket) =>
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nen"),
    );
    const asked = ask(await connectorTo(url), "/", { data: () => asked.letGo() });
    while (sockets.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await once(sockets[0] as Socket, "close");
  });

  it("resume an earlier TLS session, and check the certificate", async () => {
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
    const trusting = await connectorTo(url, { trusted: cert });
    for (const path of ["/1", "/2"]) {
      expect(await ask(trusting, path).ended).toEqual({ body: "secret", isComplete: true });
    }
    expect(reused).toEqual([false, true]);
    expect(await ask(await connectorTo(url), "/3").ended).toEqual({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  });

  it("send without waiting for acknowledgements", async () => {
    const { url } = await serveRaw((path, socket) => socket.write(ok(path)));
    const opened: Socket[] = [];
    const note = (message: unknown) => opened.push((message as { readonly socket: Socket }).socket);
    subscribe("net.client.socket", note);
    await ask(await connectorTo(url), "/1").ended;
    unsubscribe("net.client.socket", note);
    // The socket's TCP_NODELAY option can't be read, but Node remembers the value that it has set.
    const [socket] = opened;
    const noDelay = Object.getOwnPropertySymbols(socket).find(({ description }) => description === "kSetNoDelay");
    expect(opened).toHaveLength(1);
    expect(Reflect.get(socket as Socket, noDelay as symbol)).toBe(true);
  });
});

describe("a request", () => {
  it("contains path, host, length and credentials", async () => {
    const heads: string[] = [];
    const { url } = await serveRaw((path, socket, head) => {
      heads.push(head);
      socket.write(ok(path));
    });
    const connector = await connectorTo(url);
    const login = new URL(url);
    login.username = "me";
    login.password = "pass word";
    const body = [Buffer.from("\r\n"), Buffer.from("\r\n")];
    const send = (path: string, headers: HttpRequest["headers"]) =>
      ask(connector, path, { request: { method: "POST", url: new URL(path, login), headers, body } }).ended;
    await send("/v1?beta=1", { "x-api-key": "kéy" });
    await send("/v1", { authorization: "Bearer k" });
    const basic = `Basic ${Buffer.from("me:pass word").toString("base64")}`;
    const [first = "", second = ""] = heads.filter((head) => head !== "");
    expect(first.split("\r\n").toSorted()).toEqual(
      [
        "POST /v1?beta=1 HTTP/1.1",
        `host: ${url.host}`,
        "x-api-key: kéy",
        "content-length: 4",
        `Authorization: ${basic}`,
        "Connection: keep-alive",
      ].toSorted(),
    );
    expect(second.match(/authorization: .*/gi)).toEqual(["authorization: Bearer k"]);
  });

  it.each([
    ["ERR_INVALID_CHAR", { "x-api-key": "k\r\nx-evil: 1" }],
    ["ERR_INVALID_CHAR", { "x-api-key": "€" }],
    ["ERR_INVALID_HTTP_TOKEN", { "x api": "k" }],
  ])("fails with %s for the headers %j", async (code, headers) => {
    const { url, sockets } = await serveRaw(() => {});
    expect(await ask(await connectorTo(url), "/", { request: { headers } }).ended).toEqual({ code });
    expect(sockets).toHaveLength(0);
  });

  it("is sent in pieces, without copying them", async () => {
    const { url, sockets } = await serveRaw((path, socket) => socket.write(ok(path)));
    const connector = await connectorTo(url);
    await ask(connector, "/1").ended;
    const piece = Buffer.alloc(1_000_000, "x");
    const body = Array.from({ length: 100 }, () => piece);
    const used = () => process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
    const [socket] = sockets;
    socket?.removeAllListeners("data").pause();
    const before = used();
    const asked = ask(connector, "/2", { request: { method: "POST", body } });
    await new Promise((resolve) => setImmediate(resolve));
    expect(used() - before).toBeLessThan(20_000_000);
    let received = 0;
    socket
      ?.on("data", (bytes) => {
        received += bytes.length;
        if (received > 100_000_000) socket.write(ok("all"));
      })
      .resume();
    expect(await asked.ended).toEqual({ body: "all", isComplete: true });
  });
});
