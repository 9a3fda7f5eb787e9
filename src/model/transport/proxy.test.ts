import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { atEnd, callerFor, connectionsForTest, serve } from "../wire.test-support.ts";
import { proxyFor } from "./proxy.ts";
import { selfSigned } from "./self-signed.test-support.ts";

describe("which proxy the environment names", () => {
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
    expect(proxyFor(new URL(url), environment)?.host).toBe(expected);
  });

  it("is none when nothing is named, or everything is exempt", () => {
    expect(proxyFor(new URL("https://api.test"), {})).toBeUndefined();
    expect(proxyFor(new URL("https://api.test"), { HTTPS_PROXY: "" })).toBeUndefined();
    expect(proxyFor(new URL("https://api.test"), { HTTPS_PROXY: "http://p.test", no_proxy: "*" })).toBeUndefined();
  });
});

/** A proxy that leads every name to one port on loopback. */
async function proxyTo(port: number, refuse = false) {
  const seen: { method: string; url: string; login: string | undefined }[] = [];
  const note = ({ method = "", url = "", headers }: IncomingMessage) =>
    seen.push({ method, url, login: headers["proxy-authorization"] });
  const sockets = new Set<Socket>();
  const server = createServer((incoming, outgoing) => {
    note(incoming);
    const { pathname } = new URL(incoming.url ?? "");
    const { method, headers } = incoming;
    const onward = httpRequest({ host: "127.0.0.1", port, path: pathname, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  });
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
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  });
  return { seen, url: `http://me:pass%20word@127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const login = `Basic ${Buffer.from("me:pass word").toString("base64")}`;

describe("requests through a proxy", () => {
  it("go by their whole address where the provider speaks http", async () => {
    const server = await serve({ script: [{ content: "through" }, { content: "again" }] });
    const proxy = await proxyTo(server.port);
    const connections = connectionsForTest({ environment: { HTTP_PROXY: proxy.url } });
    const caller = callerFor("http://models.test", "anthropic", { connections });
    expect((await caller.call()).outcome).toMatchObject({ ok: true, message: { content: [{ text: "through" }] } });
    expect((await caller.call()).outcome.ok).toBe(true);
    expect(proxy.seen[0]).toEqual({ method: "POST", url: "http://models.test/v1/messages", login });
    expect(server.requests[0]?.headers.host).toBe("models.test");
  });

  it("go through a tunnel where the provider speaks https, the name checked against its certificate", async () => {
    const { key, cert } = selfSigned("models.test");
    const body = 'data: {"choices":[{"delta":{"content":"tunnelled"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
    const secure = createTlsServer({ key, cert }, (incoming, outgoing) => {
      incoming.resume().on("end", () => outgoing.end(body));
    });
    await new Promise<void>((resolve) => secure.listen(0, "127.0.0.1", resolve));
    atEnd(() => {
      secure.closeAllConnections();
      return new Promise((resolve) => secure.close(() => resolve()));
    });
    const proxy = await proxyTo((secure.address() as AddressInfo).port);
    const environment = { HTTPS_PROXY: proxy.url };
    const trusting = connectionsForTest({ environment, trusted: cert });
    const call = await callerFor("https://models.test/v1", "openai", { connections: trusting }).call();
    expect(call.outcome).toMatchObject({ ok: true, message: { content: [{ text: "tunnelled" }] } });
    expect(proxy.seen).toEqual([{ method: "CONNECT", url: "models.test:443", login }]);

    const strange = await callerFor("https://models.test/v1", "openai", {
      connections: connectionsForTest({ environment }),
    }).call();
    expect(strange.outcome).toMatchObject({
      ok: false,
      error: { code: "connection", message: expect.stringMatching(/NODE_EXTRA_CA_CERTS/) },
    });
    const other = connectionsForTest({ environment, trusted: cert });
    const misnamed = await callerFor("https://other.test/v1", "openai", { connections: other }).call();
    expect(misnamed.outcome).toMatchObject({
      ok: false,
      error: { code: "connection", message: expect.stringMatching(/certificate of other\.test/) },
    });
  });

  it("fail with the cure when the proxy refuses, and never show its password", async () => {
    const proxy = await proxyTo(1, true);
    const connections = connectionsForTest({ environment: { HTTPS_PROXY: proxy.url } });
    const call = await callerFor("https://models.test", "anthropic", { connections }).call();
    expect(call.outcome).toMatchObject({
      ok: false,
      error: { message: expect.stringMatching(/status 407.*HTTPS_PROXY/) },
    });
    expect(JSON.stringify(call.outcome)).not.toContain("pass");
  });
});
