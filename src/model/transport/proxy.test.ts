import { createServer, request as httpRequest, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { ProxyError, proxyFor } from "../../lib/index.ts";
import { atEnd, callerFor, connectionsForTest, serve } from "../wire.test-support.ts";
import { selfSigned } from "./self-signed.test-support.ts";

describe("the proxy from the environment", () => {
  const environment = {
    HTTPS_PROXY: "http://secure.test:1",
    http_proxy: "plain.test:2",
    NO_PROXY: "intern.test, .corp.test:8443,10.0.0.1",
  };
  it.each([
    ["https://api.test/v1", "secure.test:1"],
    ["http://api.test/v1", "plain.test:2"],
    ["https://intern.test", undefined],
    ["https://deep.intern.test", undefined],
    ["https://notintern.test", "secure.test:1"],
    ["https://x.corp.test:8443", undefined],
    ["https://x.corp.test", "secure.test:1"],
    ["http://10.0.0.1:8000", undefined],
    ["http://127.0.0.1:8000", undefined],
    ["http://localhost:8000", undefined],
    ["http://[::1]:8000", undefined],
  ])("%s", (url, expected) => {
    expect(proxyFor(new URL(url), environment)).toEqual(
      expected && expect.objectContaining({ url: new URL(`http://${expected}`) }),
    );
  });

  it("is undefined if none is set, or if all hosts are exempt", () => {
    expect(proxyFor(new URL("https://api.test"), {})).toBeUndefined();
    expect(proxyFor(new URL("https://api.test"), { HTTPS_PROXY: "" })).toBeUndefined();
    expect(proxyFor(new URL("https://api.test"), { HTTPS_PROXY: "http://p.test", no_proxy: "*" })).toBeUndefined();
    expect(
      proxyFor(new URL("https://api.test"), { HTTPS_PROXY: "ftp://p.test", NO_PROXY: "api.test" }),
    ).toBeUndefined();
  });

  it.each([
    [
      { HTTPS_PROXY: "http://me:secret@p.test:99999" },
      /^HTTPS_PROXY is not a valid proxy address. Set HTTPS_PROXY to /,
    ],
    [{ https_proxy: "http://" }, /^https_proxy is not a valid proxy address. Set https_proxy to /],
    [{ ALL_PROXY: "socks5://me:secret@p.test:1080" }, /^ALL_PROXY names a socks5 proxy, but only http and https /],
    [{ HTTPS_PROXY: "http://me:secret%@p.test" }, /^the credentials in HTTPS_PROXY are not percent-encoded correctly/],
  ])("is an error if it can't be used: %j", (environment, message) => {
    const proxy = proxyFor(new URL("https://api.test"), environment);
    expect(proxy).toBeInstanceOf(ProxyError);
    expect(proxy).toHaveProperty("message", expect.stringMatching(message));
    expect(proxy).toHaveProperty(
      "message",
      expect.stringMatching(/, or list api\.test in NO_PROXY to connect without/),
    );
    expect(proxy).toHaveProperty("message", expect.not.stringContaining("secret"));
  });
});

/** Starts a proxy that connects every host name to one port on loopback. */
async function proxyTo(
  port: number,
  { refuse = false, tls }: { refuse?: boolean; tls?: ReturnType<typeof selfSigned> } = {},
) {
  const seen: { method: string; url: string; login: string | undefined }[] = [];
  const note = ({ method = "", url = "", headers }: IncomingMessage) =>
    seen.push({ method, url, login: headers["proxy-authorization"] });
  const sockets = new Set<Socket>();
  const forward: RequestListener = (incoming, outgoing) => {
    note(incoming);
    const { pathname } = new URL(incoming.url ?? "");
    const { method, headers } = incoming;
    const onward = httpRequest({ host: "127.0.0.1", port, path: pathname, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  };
  const server = tls ? createTlsServer(tls, forward) : createServer(forward);
  server.on("connect", (incoming: IncomingMessage, socket: Socket) => {
    note(incoming);
    sockets.add(socket.on("error", () => {}));
    if (refuse) return socket.end("HTTP/1.1 407 Login\r\n\r\n");
    const onward = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(onward).pipe(socket);
    });
    sockets.add(onward.on("error", () => {}));
    return undefined;
  });
  const proxyPort = await listen(server, () => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
  });
  const address = tls ? `https://me:pass%20word@localhost` : "http://me:pass%20word@127.0.0.1";
  return { seen, sockets, url: `${address}:${proxyPort}` };
}

async function listen(server: Server, beforeClose: () => void): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => {
    beforeClose();
    return new Promise((resolve) => server.close(() => resolve()));
  });
  return (server.address() as AddressInfo).port;
}

/** Starts a server for https://models.test that answers every request. */
async function serveSecurely(identity: ReturnType<typeof selfSigned>): Promise<number> {
  const body = 'data: {"choices":[{"delta":{"content":"tunnelled"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  const server = createTlsServer(identity, (incoming, outgoing) => {
    incoming.resume().on("end", () => outgoing.end(body));
  });
  return listen(server, () => server.closeAllConnections());
}

async function unusedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const login = `Basic ${Buffer.from("me:pass word").toString("base64")}`;
const tunnelled = { ok: true, message: { content: [{ text: "tunnelled" }] } };

describe("requests through a proxy", () => {
  it("use the complete URL if the provider uses http", async () => {
    const server = await serve({ script: [{ content: "through" }, { content: "again" }] });
    const proxy = await proxyTo(server.port);
    const connections = connectionsForTest({ environment: { HTTP_PROXY: proxy.url } });
    const caller = callerFor("http://models.test", "anthropic", { connections });
    expect((await caller.call()).outcome).toMatchObject({ ok: true, message: { content: [{ text: "through" }] } });
    expect((await caller.call()).outcome.ok).toBe(true);
    expect(proxy.seen[0]).toEqual({ method: "POST", url: "http://models.test/v1/messages", login });
    expect(server.requests[0]?.headers.host).toBe("models.test");
  });

  it("use a tunnel if the provider uses https, with the host name checked against its certificate", async () => {
    const identity = selfSigned("models.test");
    const proxy = await proxyTo(await serveSecurely(identity));
    const environment = { HTTPS_PROXY: proxy.url };
    const connections = connectionsForTest({ environment, trusted: identity.cert });
    const caller = callerFor("https://models.test/v1", "openai", { connections });
    expect((await caller.call()).outcome).toMatchObject(tunnelled);
    expect((await caller.call()).outcome).toMatchObject(tunnelled);
    expect(proxy.seen).toEqual([{ method: "CONNECT", url: "models.test:443", login }]);

    const strange = await callerFor("https://models.test/v1", "openai", {
      connections: connectionsForTest({ environment }),
    }).call();
    expect(strange.outcome).toMatchObject({
      ok: false,
      error: { code: "connection", message: expect.stringMatching(/NODE_EXTRA_CA_CERTS/) },
    });
    const other = connectionsForTest({ environment, trusted: identity.cert });
    const misnamed = await callerFor("https://other.test/v1", "openai", { connections: other }).call();
    expect(misnamed.outcome).toMatchObject({
      ok: false,
      error: { code: "connection", message: expect.stringMatching(/certificate of other\.test/) },
    });
  });

  it("open no more tunnels than the connection limit allows, and replace a tunnel that breaks", async () => {
    const identity = selfSigned("models.test");
    const proxy = await proxyTo(await serveSecurely(identity));
    const environment = { HTTPS_PROXY: proxy.url };
    const connections = connectionsForTest({ environment, trusted: identity.cert, maxConnections: 2 });
    const caller = callerFor("https://models.test/v1", "openai", { connections });
    const calls = await Promise.all(Array.from({ length: 6 }, () => caller.call()));
    for (const { outcome } of calls) expect(outcome).toMatchObject(tunnelled);
    expect(proxy.seen).toHaveLength(2);
    for (const socket of proxy.sockets) socket.resetAndDestroy();
    const call = await caller.call();
    expect(call.outcome).toMatchObject(tunnelled);
    expect(call.progress.some(({ type }) => type === "retried")).toBe(false);
    expect(proxy.seen).toHaveLength(3);
  });

  it("are encrypted between Retinue and an https proxy", async () => {
    const [identity, tls] = [selfSigned("models.test"), selfSigned("localhost")];
    const proxy = await proxyTo(await serveSecurely(identity), { tls });
    const trusted = `${identity.cert}${tls.cert}`;
    const tunnel = connectionsForTest({ environment: { HTTPS_PROXY: proxy.url }, trusted });
    const call = await callerFor("https://models.test/v1", "openai", { connections: tunnel }).call();
    expect(call.outcome).toMatchObject(tunnelled);

    const server = await serve({ script: [{ content: "through" }] });
    const forwarding = await proxyTo(server.port, { tls });
    const connections = connectionsForTest({ environment: { HTTP_PROXY: forwarding.url }, trusted });
    const forwarded = await callerFor("http://models.test", "anthropic", { connections }).call();
    expect(forwarded.outcome).toMatchObject({ ok: true, message: { content: [{ text: "through" }] } });
    expect(forwarding.seen).toEqual([{ method: "POST", url: "http://models.test/v1/messages", login }]);
  });

  it("fail with advice if the proxy refuses, and never show its password", async () => {
    const proxy = await proxyTo(1, { refuse: true });
    const connections = connectionsForTest({ environment: { HTTPS_PROXY: proxy.url } });
    const call = await callerFor("https://models.test", "anthropic", { connections }).call();
    expect(call.outcome).toMatchObject({
      ok: false,
      error: { message: expect.stringMatching(/status 407\. Check HTTPS_PROXY, or list models\.test in NO_PROXY/) },
    });
    expect(JSON.stringify(call.outcome)).not.toContain("pass");
  });

  it.each(["http", "https"])("to %s fail with advice if the proxy does not respond", async (scheme) => {
    const port = await unusedPort();
    const connections = connectionsForTest({ environment: { ALL_PROXY: `127.0.0.1:${port}` } });
    const call = await callerFor(`${scheme}://models.test`, "anthropic", { connections }).call();
    const problem = `anthropic could not be reached: the proxy 127.0.0.1:${port} can't be reached (ECONNREFUSED). Check ALL_PROXY`;
    expect(call.outcome).toMatchObject({ error: { message: expect.stringContaining(problem) } });
  });

  it("are not sent directly if the proxy can't be used", async () => {
    const server = await serve({ script: [{ content: "reached" }] });
    // This address reaches the server but is not a loopback address. No proxy is used for loopback addresses.
    const url = `http://0.0.0.0:${server.port}`;
    const broken = connectionsForTest({ environment: { HTTP_PROXY: "socks5://p.test:1080" } });
    const call = await callerFor(url, "anthropic", { connections: broken }).call();
    expect(call.outcome).toMatchObject({
      ok: false,
      error: {
        code: "connection",
        message: expect.stringMatching(/^anthropic could not be reached: HTTP_PROXY names a socks5/),
      },
    });
    expect(call.progress).toEqual([]);
    expect(server.requests).toHaveLength(0);
    const direct = connectionsForTest({ environment: { HTTP_PROXY: "socks5://p.test:1080", NO_PROXY: "0.0.0.0" } });
    expect((await callerFor(url, "anthropic", { connections: direct }).call()).outcome.ok).toBe(true);
  });
});
