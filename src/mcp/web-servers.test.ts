import { afterEach, describe, expect, it } from "vitest";
import { startTestProxy } from "../lib/network/proxy.test-support.ts";
import {
  type McpWebServer,
  startMcpSseServer,
  startMcpWebServer,
} from "../testing/mcp-server/http-servers.test-support.ts";
import type { McpBehavior } from "../testing/mcp-server/mcp-server.test-support.ts";
import { createTestServers, neverAborted, runTool, type TestServers, textOfOutput } from "./servers.test-support.ts";

const made: TestServers[] = [];
const started: McpWebServer[] = [];
afterEach(async () => {
  for (const servers of made.splice(0)) await servers.remove();
  for (const server of started.splice(0)) await server.close();
});

async function start(behavior: McpBehavior = {}) {
  const server = await startMcpWebServer(behavior);
  started.push(server);
  return server;
}

function connect(config: { url: string; headers?: Record<string, string> }, limits = {}, proxies = {}) {
  const environment = { PASS: "letmein", ...proxies };
  const servers = createTestServers({ web: { type: "http", ...config } }, { limits, environment });
  made.push(servers);
  return servers.connect([{ name: "web" }], { owner: "main" }, neverAborted);
}

describe("a server over streamable HTTP", () => {
  for (const streams of [false, true]) {
    it(`provides tools and responses, ${streams ? "as a stream" : "as JSON"}, and its session is ended`, async () => {
      const server = await start({ streams, instructions: "Ask nicely." });
      const connection = await connect({ url: server.url });
      expect(connection.problems).toEqual([]);
      expect(connection.tools).toHaveLength(8);
      expect(connection.instructions).toEqual([{ server: "web", text: "Ask nicely." }]);
      expect(textOfOutput(await runTool(connection, "mcp__web__echo", { input: { text: "hi" } }))).toBe("hi");
      expect(server.sessions.size).toBe(1);
      await connection.release();
      expect(server.sessions.size).toBe(0);
    });
  }

  it("gets headers with variables expanded, and the error says what to do if it refuses them", async () => {
    const server = await start({ token: "Bearer letmein" });
    const headers = { Authorization: `Bearer \${PASS}` };
    expect((await connect({ url: server.url, headers })).tools).toHaveLength(8);
    const refused = await connect({ url: server.url, headers: { Authorization: "Bearer wrong" } });
    expect(refused.problems[0]).toMatch(/it responded with status 401; check the "headers"/);
    expect(refused.problems[0]).not.toContain("wrong");
  });

  it("is reached through a proxy from the environment", async () => {
    const server = await start({ streams: true });
    const proxy = await startTestProxy(Number(new URL(server.url).port));
    const url = `http://tools.test${new URL(server.url).pathname}`;
    const connection = await connect({ url }, {}, { HTTP_PROXY: proxy.url });
    expect(connection.problems).toEqual([]);
    expect(textOfOutput(await runTool(connection, "mcp__web__echo", { input: { text: "hi" } }))).toBe("hi");
    await connection.release();
    expect(new Set(proxy.asked)).toEqual(new Set(["tools.test:80"]));
    await proxy.close();
  });

  it.each([
    ["socks5://me:secret@proxy.test:1", /HTTP_PROXY names a socks5 proxy/],
    ["http://proxy.test:99999", /HTTP_PROXY is not a valid proxy address/],
    ["http://127.0.0.1:1", /the proxy 127\.0\.0\.1:1 can't be reached \(ECONNREFUSED\)\. Check HTTP_PROXY/],
  ])("is not contacted directly if the proxy can't be used: %s", async (HTTP_PROXY, message) => {
    const { problems } = await connect({ url: "http://tools.test/mcp" }, {}, { HTTP_PROXY });
    expect(problems[0]).toMatch(message);
    expect(problems[0]).not.toContain("secret");
  });

  it("is reported if it is not running or its URL is invalid", async () => {
    const server = await start();
    await server.close();
    expect((await connect({ url: server.url })).problems[0]).toMatch(/could not be reached: .*refused/);
    expect((await connect({ url: "not a url" })).problems[0]).toContain("must begin with http:// or https://");
    expect((await connect({ url: server.url, headers: { "bad name": "x" } })).problems).toHaveLength(1);
  });

  it("makes a call time out if it hangs", async () => {
    const silent = await start({ silent: true });
    expect((await connect({ url: silent.url }, { startMs: 300 })).problems[0]).toContain(
      "did not respond within 300 ms",
    );
    const hangs = await start({ hangAtCall: 1 });
    const connection = await connect({ url: hangs.url }, { callMs: 300 });
    expect(textOfOutput(await runTool(connection, "mcp__web__count"))).toContain("did not respond within 300 ms");
  });

  it("makes the call fail at once if it cuts off a response", async () => {
    const server = await start({ breakAtCall: 1, crashAtCall: 2 });
    const connection = await connect({ url: server.url });
    const broken = await runTool(connection, "mcp__web__count");
    expect(broken.isError).toBe(true);
    expect(textOfOutput(broken)).toContain("the connection was closed before the response was complete");
    expect(textOfOutput(await runTool(connection, "mcp__web__count"))).toContain("was lost during the call");
    expect(textOfOutput(await runTool(connection, "mcp__web__count"))).toMatch(/restarted.*\n3$/s);
  });

  for (const streams of [false, true]) {
    it(`that sends too much at once is disconnected, ${streams ? "as a stream" : "as JSON"}`, async () => {
      const server = await start({ streams });
      const connection = await connect({ url: server.url }, { maxMessageBytes: 100_000 });
      const flood = await runTool(connection, "mcp__web__big", { input: { bytes: 1_000_000 } });
      expect(textOfOutput(flood)).toContain("it sent a message larger than 97.7 KB and was disconnected");
      expect(textOfOutput(await runTool(connection, "mcp__web__big", { input: { bytes: 90_000 } }))).toMatch(
        /x{90000}$/,
      );
    });
  }

  it("gets a new session if it has forgotten the old one", async () => {
    const server = await start({ forgetAtCall: 2 });
    const connection = await connect({ url: server.url });
    await runTool(connection, "mcp__web__count");
    const forgotten = await runTool(connection, "mcp__web__count");
    expect(textOfOutput(forgotten)).toContain("the session has expired");
    expect(textOfOutput(await runTool(connection, "mcp__web__count"))).toMatch(/restarted.*\n2$/s);
  });
});

describe("a server with the older protocol, over an event stream", () => {
  it("provides tools and responses, and no call hangs forever", async () => {
    const server = await startMcpSseServer({ hangAtCall: 2 });
    const servers = createTestServers({ old: { type: "sse", url: server.url } }, { limits: { callMs: 1_000 } });
    made.push(servers);
    const connection = await servers.connect([{ name: "old" }], { owner: "main" }, neverAborted);
    expect(connection.problems).toEqual([]);
    expect(connection.tools).toHaveLength(8);
    expect(textOfOutput(await runTool(connection, "mcp__old__echo", { input: { text: "hi" } }))).toBe("hi");
    expect(textOfOutput(await runTool(connection, "mcp__old__count"))).toContain("did not respond within 1.0 s");
    await connection.release();
    await server.close();
  });
});
