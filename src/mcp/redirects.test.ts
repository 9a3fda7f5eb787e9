import { once } from "node:events";
import { createServer, request as httpRequest, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { startTestProxy } from "../lib/network/proxy.test-support.ts";
import { startMcpWebServer } from "../testing/mcp-server/http-servers.test-support.ts";
import { createTestServers, neverAborted, runTool, textOfOutput } from "./servers.test-support.ts";

/** Starts an HTTP server, and returns its address. */
async function listen(handle: RequestListener): Promise<string> {
  const server = createServer(handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a server elsewhere, which nothing may reach, and returns the requests that it gets. */
async function startElsewhere() {
  const arrived: unknown[] = [];
  const url = await listen(({ method, headers }, response) => {
    arrived.push([method, headers["x-api-key"]]);
    response.writeHead(500).end("internal secret");
  });
  return { url, arrived };
}

async function connect(config: { url: string; type?: string }, environment = {}) {
  const headers = { "x-api-key": "secret-key" };
  const servers = createTestServers({ web: { type: "http", headers, ...config } }, { environment });
  onTestFinished(() => servers.remove());
  return servers.connect([{ name: "web" }], { owner: "main" }, neverAborted);
}

it.each([301, 302, 303, 307, 308])(
  "a server can't redirect a request to another server (status %i)",
  async (status) => {
    const elsewhere = await startElsewhere();
    const targets = [elsewhere.url, elsewhere.url.replace("127.0.0.1", "localhost"), "http://169.254.169.254/latest"];
    for (const target of targets) {
      const url = await listen((_, response) => response.writeHead(status, { location: `${target}/?key=k` }).end());
      const { problems, tools } = await connect({ url });
      expect(tools).toEqual([]);
      expect(problems[0]).toContain(`it responded with status ${status}`);
      expect(problems[0]).not.toMatch(/internal secret|key=k/);
    }
    expect(elsewhere.arrived).toEqual([]);
  },
);

it.each(["", "file:///etc/passwd", "//", "http://[", "javascript:x"])(
  "the redirect to %j is refused",
  async (location) => {
    const url = await listen((_, response) => response.writeHead(307, { location }).end());
    const { problems, tools } = await connect({ url });
    expect([tools, problems.length]).toEqual([[], 1]);
  },
);

it("a server can't redirect a request through a proxy, or a later call, to another server", async () => {
  const elsewhere = await startElsewhere();
  const url = await listen((_, response) => response.writeHead(307, { location: elsewhere.url }).end());
  const proxy = await startTestProxy(Number(new URL(url).port));
  onTestFinished(() => proxy.close());
  const { problems } = await connect({ url: "http://tools.test/mcp" }, { HTTP_PROXY: proxy.url });
  expect(problems[0]).toContain("it responded with status 307");

  const real = await startMcpWebServer();
  onTestFinished(() => real.close());
  let isTurned = false;
  const relay = await listen((incoming, response) => {
    if (isTurned) return void response.writeHead(307, { location: elsewhere.url }).end();
    const onward = httpRequest(real.url, { method: incoming.method, headers: incoming.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(onward);
    return undefined;
  });
  const connection = await connect({ url: relay });
  expect(connection.problems).toEqual([]);
  isTurned = true;
  const output = textOfOutput(await runTool(connection, "mcp__web__echo", { input: { text: "hi" } }));
  expect(output).toContain("status 307");
  expect(output).not.toContain("internal secret");
  expect(elsewhere.arrived).toEqual([]);
});

it("a redirect to another path of the same server is followed, a few times", async () => {
  const real = await startMcpWebServer();
  onTestFinished(() => real.close());
  const asked: string[] = [];
  const relay = await listen((incoming, response) => {
    const path = String(incoming.url);
    asked.push(path);
    if (path !== "/mcp/") {
      const location = path === "/loop" ? "/loop" : "/mcp/";
      return void response.writeHead(308, { location }).end();
    }
    const onward = httpRequest(real.url, { method: incoming.method, headers: incoming.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(onward);
    return undefined;
  });
  const connection = await connect({ url: `${relay}/mcp` });
  expect(connection.problems).toEqual([]);
  expect(textOfOutput(await runTool(connection, "mcp__web__echo", { input: { text: "hi" } }))).toBe("hi");
  await connection.release();
  asked.length = 0;
  expect((await connect({ url: `${relay}/loop` })).problems).toHaveLength(1);
  expect(asked.length).toBeLessThan(10);
});

it("an SSE server can't name another server for messages", async () => {
  const elsewhere = await startElsewhere();
  const url = await listen((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`event: endpoint\ndata: ${elsewhere.url}/messages\n\n`);
  });
  const { problems, tools } = await connect({ type: "sse", url });
  expect([tools, problems.length]).toEqual([[], 1]);
  expect(elsewhere.arrived).toEqual([]);
});
