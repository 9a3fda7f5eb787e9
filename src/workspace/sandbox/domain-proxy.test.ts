import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type DomainProxy, isAllowed, openDomainProxy } from "./domain-proxy.ts";
import { createSandboxPlace, needsSandbox } from "./sandbox.test-support.ts";

describe("domains", () => {
  it.each([
    ["example.com", ["example.com"], true],
    ["EXAMPLE.com.", ["example.com"], true],
    ["a.example.com", ["example.com"], false],
    ["a.example.com", ["*.example.com"], true],
    ["example.com", ["*.example.com"], false],
    [".example.com", ["*.example.com"], false],
    ["evilexample.com", ["*.example.com", "example.com"], false],
    ["example.com.evil.org", ["example.com"], false],
    ["1.2.3.4", ["*.3.4", "example.com"], false],
    ["1.2.3.4", ["1.2.3.4"], true],
    ["", ["example.com"], false],
    ["example.com", [], false],
  ])("%s with %j: %s", (host, domains, allowed) => {
    expect(isAllowed(host, domains)).toBe(allowed);
  });
});

describe("the proxy", () => {
  const server = createServer((message, response) => response.end(`hello from ${message.url}`));
  let port: number;
  let proxy: DomainProxy;
  beforeEach(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    port = (server.address() as AddressInfo).port;
    proxy = await openDomainProxy(["127.0.0.1", "localhost.example", "localhost"]);
  });
  afterEach(async () => {
    proxy.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it("passes plain requests only to allowed hosts", async () => {
    expect(await get(`http://127.0.0.1:${port}/a?b`)).toEqual({ status: 200, text: "hello from /a?b" });
    const denied = await get(`http://127.0.0.2:${port}/`);
    expect(denied).toEqual({ status: 403, text: expect.stringContaining("127.0.0.2: it is not in sandbox") });
    expect(await get("ftp://127.0.0.1/")).toMatchObject({ status: 400 });
    expect(await get("/")).toMatchObject({ status: 400 });
  });

  it("opens tunnels only to allowed hosts", async () => {
    const tunneled = await tunnel(`127.0.0.1:${port}`, "GET /t HTTP/1.0\r\n\r\n");
    expect(tunneled).toMatch(/^HTTP\/1\.1 200.*hello from \/t$/s);
    for (const target of [`127.0.0.2:${port}`, "example.com:443", "nonsense", ""]) {
      expect(await tunnel(target, "GET / HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1\.1 40[03]/);
    }
  });

  it("does not follow an allowed name to a local address unless the address itself is in the list", async () => {
    const narrow = await openDomainProxy(["localhost"]);
    const answer = await get(`http://localhost:${port}/`, narrow.socket);
    narrow.close();
    expect(answer).toEqual({ status: 403, text: expect.stringContaining("a loopback address") });
  });

  it("is the only thing that commands can reach", needsSandbox, async () => {
    const place = createSandboxPlace({ domains: ["127.0.0.1"] });
    const reach = (options: string) => `curl -s ${options} http://127.0.0.1:${port}/in; echo " $?"`;
    const { output } = await place.run(`${reach("--noproxy ''")}; ${reach("")}; curl -s http://example.com/`);
    await place.remove();
    expect(output).toContain("hello from /in 0\n");
    expect(output).toContain(" 7\n");
    expect(output).toContain("example.com: it is not in sandbox.network.allowedDomains");
  });

  function get(path: string, socketPath = proxy.socket): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const sent = request({ socketPath, path, agent: false }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text: text.trim() }));
      });
      sent.on("error", reject).end();
    });
  }

  function tunnel(target: string, words: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let text = "";
      const near = connect(proxy.socket, () => near.write(`CONNECT ${target} HTTP/1.1\r\n\r\n`));
      near.setEncoding("utf8").on("data", (part: string) => {
        if (text === "" && part.startsWith("HTTP/1.1 200")) near.write(words);
        text += part;
      });
      near.on("error", reject).on("close", () => resolve(text.trim()));
    });
  }
});
