import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { startTestProxy } from "../../lib/network/proxy.test-support.ts";
import { testContext, textOfOutput } from "../shared/tool-context.test-support.ts";
import { createWebFetchTool, type WebFetchDependencies } from "./web-fetch.ts";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<{ port: number; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { port: (server.address() as AddressInfo).port, seen };
}

/** Every host name resolves to the test's own server. */
const here: WebFetchDependencies = {
  allowLoopback: true,
  lookup: async () => [{ address: "127.0.0.1", family: 4 }],
};

interface Row {
  readonly id: string;
  readonly family: string;
  readonly url: string;
  readonly location?: string;
}

const rows = readFileSync(join(import.meta.dirname, "fixtures/attacks.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);
const family = (name: string) => rows.filter((row) => row.family === name).map((row) => [row.id, row] as const);

describe("URLs in the attack corpus", () => {
  it.each([...family("ssrf-literal"), ...family("scheme-exfil")])("%s is refused", async (_id, { url }) => {
    const tool = createWebFetchTool({ lookup: async () => [{ address: "127.0.0.1", family: 4 }] });
    const output = await tool.run({ url }, testContext({ allow: () => true }));
    expect(output.isError, textOfOutput(output)).toBe(true);
  });

  it.each(family("ssrf-redirect"))("%s is not followed past the first host", async (_id, { location = "" }) => {
    const { port, seen } = await serve((_request, response) => response.writeHead(302, { location }).end());
    const looked: string[] = [];
    const lookup: WebFetchDependencies["lookup"] = async (name) => {
      looked.push(name);
      return [{ address: "127.0.0.1", family: 4 }];
    };
    const tool = createWebFetchTool({ allowLoopback: true, lookup });
    const output = await tool.run({ url: `http://example.com:${port}/r` }, testContext());
    expect(textOfOutput(output)).toMatch(/redirects to/);
    expect(seen).toHaveLength(1);
    expect(looked).toEqual(["example.com"]);
  });

  it.each(family("domain-match"))("%s is never mistaken for example.com", async (_id, { url }) => {
    const looked: string[] = [];
    const lookup: WebFetchDependencies["lookup"] = async (name) => {
      looked.push(name);
      return [];
    };
    await createWebFetchTool({ lookup }).run({ url }, testContext());
    expect(looked).not.toContain("example.com");
  });

  it.each(family("benign"))("%s passes the checks", async (_id, { url }) => {
    const looked: string[] = [];
    const lookup: WebFetchDependencies["lookup"] = async (name) => {
      looked.push(name);
      return [];
    };
    await createWebFetchTool({ lookup }).run({ url }, testContext());
    expect(looked).toEqual(["example.com"]);
  });
});

describe("WebFetch, before it connects,", () => {
  it("rejects a name if one of its addresses is private", async () => {
    const tool = createWebFetchTool({
      lookup: async () => [
        { address: "93.184.216.34", family: 4 },
        { address: "10.0.0.5", family: 4 },
      ],
    });
    const output = await tool.run({ url: "http://example.com/" }, testContext());
    expect(textOfOutput(output)).toContain("example.com resolves to 10.0.0.5, which is a private network address");
  });

  it("resolves the name only once, so that a second lookup can't lead elsewhere", async () => {
    const { port, seen } = await serve((_request, response) => response.end("ok"));
    let times = 0;
    const tool = createWebFetchTool({
      allowLoopback: true,
      lookup: async () => [{ address: ++times === 1 ? "127.0.0.1" : "10.0.0.5", family: 4 }],
    });
    const output = await tool.run({ url: `http://rebind.example.com:${port}/` }, testContext());
    expect(output.isError).toBe(false);
    expect(times).toBe(1);
    expect(seen[0]?.headers.host).toBe(`rebind.example.com:${port}`);
  });

  it("checks the target of an allowed redirect like any other URL", async () => {
    const { port } = await serve((_request, response) =>
      response.writeHead(302, { location: "http://10.0.0.1/" }).end(),
    );
    const output = await createWebFetchTool(here).run(
      { url: `http://example.com:${port}/` },
      testContext({ allow: () => true }),
    );
    expect(output.isError).toBe(true);
    expect(textOfOutput(output)).toContain("10.0.0.1 is a private network address");
  });

  it("does not reach loopback by default", async () => {
    const { port, seen } = await serve((_request, response) => response.end("ok"));
    const output = await createWebFetchTool().run(
      { url: `http://127.0.0.1:${port}/` },
      testContext({ allow: () => true }),
    );
    expect(output.isError).toBe(true);
    expect(seen).toHaveLength(0);
  });
});

describe("redirects", () => {
  it("within the host are followed without asking", async () => {
    const { port } = await serve((request, response) =>
      request.url === "/a" ? response.writeHead(301, { location: "/b" }).end() : response.end(`at ${request.url}`),
    );
    const context = testContext();
    const output = await createWebFetchTool(here).run({ url: `http://example.com:${port}/a` }, context);
    expect(textOfOutput(output)).toContain("at /b");
    expect(context.asked).toEqual([]);
  });

  it("to another host need permission, and otherwise only the location is returned", async () => {
    const { port, seen } = await serve((_request, response) =>
      response.writeHead(302, { location: `http://other.example.org:${port}/x` }).end(),
    );
    const context = testContext();
    const output = await createWebFetchTool(here).run({ url: `http://example.com:${port}/a` }, context);
    expect(context.asked).toEqual([{ kind: "network", url: `http://other.example.org:${port}/x` }]);
    expect(textOfOutput(output)).toContain(`http://other.example.org:${port}/x`);
    expect(seen).toHaveLength(1);
  });

  it("to an allowed host are followed, without cookies", async () => {
    const { port, seen } = await serve((request, response) =>
      request.url === "/a"
        ? response.writeHead(302, { location: `http://other.example.org:${port}/x`, "set-cookie": "a=1" }).end()
        : response.end("there"),
    );
    const output = await createWebFetchTool(here).run(
      { url: `http://example.com:${port}/a` },
      testContext({ allow: () => true }),
    );
    expect(textOfOutput(output)).toContain("there");
    expect(seen.map((request) => request.headers.cookie)).toEqual([undefined, undefined]);
    expect(seen.map((request) => request.headers.authorization)).toEqual([undefined, undefined]);
  });

  it("that form a loop are not followed", async () => {
    const { port, seen } = await serve((_request, response) => response.writeHead(302, { location: "/again" }).end());
    const output = await createWebFetchTool(here).run({ url: `http://example.com:${port}/` }, testContext());
    expect(textOfOutput(output)).toContain("redirects more than 5 times");
    expect(seen).toHaveLength(6);
  });
});

describe("WebFetch", () => {
  const page =
    "<html><head><title>A page</title><script>evil()</script></head><body><h1>Top</h1><p>Some <b>bold</b> words and a <a href='/x'>link</a>.</p></body></html>";
  const fetchFrom = async (
    listener: RequestListener,
    extra: WebFetchDependencies = {},
    input: { prompt?: string } = {},
  ) => {
    const { port } = await serve(listener);
    const output = await createWebFetchTool({ ...here, ...extra }).run(
      { url: `http://example.com:${port}/`, ...input },
      testContext(),
    );
    return { output, text: textOfOutput(output), port };
  };

  it("turns HTML into Markdown", async () => {
    const { text, port } = await fetchFrom((_request, response) =>
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page),
    );
    expect(text).toContain("A page");
    expect(text).toContain("# Top");
    expect(text).toContain(`Some **bold** words and a [link](http://example.com:${port}/x).`);
    expect(text).not.toContain("evil()");
  });

  it.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ])("decompresses %s", async (encoding, compress) => {
    const { text } = await fetchFrom((_request, response) =>
      response
        .writeHead(200, { "content-type": "text/plain", "content-encoding": encoding })
        .end(compress("packed words")),
    );
    expect(text).toContain("packed words");
  });

  it("stops a decompression bomb at the limit", async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000, "a"));
    const { output, text } = await fetchFrom(
      (_request, response) =>
        response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" }).end(bomb),
      { maxBytes: 100_000 },
    );
    expect(text.length).toBeLessThan(110_000);
    expect(text).toContain("Only the first");
    expect(output.details).toMatchObject({ bytes: 100_000 });
  });

  it("stops an endless body at the limit", async () => {
    const { text } = await fetchFrom(
      (_request, response) => {
        response.writeHead(200, { "content-type": "text/plain" });
        const more = () => {
          if (!response.destroyed) response.write("x".repeat(10_000), more);
        };
        more();
      },
      { maxBytes: 50_000 },
    );
    expect(text).toContain("Only the first");
  });

  it("fails if a server does not respond in time", async () => {
    const { output, text } = await fetchFrom(() => {}, { timeoutMs: 50 });
    expect(output.isError).toBe(true);
    expect(text).toContain("took too long");
  });

  it("fails if a body does not end in time", async () => {
    const { output, text } = await fetchFrom(
      (_request, response) => void response.writeHead(200, { "content-type": "text/plain" }).write("begin"),
      { timeoutMs: 100 },
    );
    expect(output.isError).toBe(true);
    expect(text).toContain("took too long");
  });

  it("rejects content that is not text, and names its type and size", async () => {
    const { output, text } = await fetchFrom((_request, response) =>
      response.writeHead(200, { "content-type": "image/png" }).end(Buffer.alloc(2_048)),
    );
    expect(output.isError).toBe(true);
    expect(text).toContain("image/png (2.0 KB)");
  });

  it("replaces invalid bytes and uses the declared charset", async () => {
    const broken = await fetchFrom((_request, response) =>
      response.writeHead(200, { "content-type": "text/plain" }).end(Buffer.from([0x61, 0xff, 0x62])),
    );
    expect(broken.text).toContain("a\ufffdb");
    const latin = await fetchFrom((_request, response) =>
      response.writeHead(200, { "content-type": "text/plain; charset=iso-8859-1" }).end(Buffer.from([0xe9])),
    );
    expect(latin.text).toContain("é");
  });

  it("removes and counts invisible characters", async () => {
    const { text } = await fetchFrom((_request, response) =>
      response.writeHead(200, { "content-type": "text/plain; charset=utf-8" }).end("a\u202eb\u200bc\u{e0041}"),
    );
    expect(text).toContain("abc\n[3 invisible characters removed]");
  });

  it("reports an error status, and the server's message", async () => {
    const { output, text } = await fetchFrom((_request, response) =>
      response.writeHead(401, { "content-type": "text/plain", "www-authenticate": "Basic" }).end("who are you"),
    );
    expect(output.isError).toBe(true);
    expect(text).toContain("responded with status 401");
    expect(text).toContain("who are you");
  });

  it("keeps the parts of a long page that match the prompt", async () => {
    const filler = Array.from({ length: 400 }, (_, index) => `## Part ${index}\n${"lorem ipsum dolor ".repeat(20)}`);
    filler[300] = "## Retries\nThe backoff doubles after every failure.";
    const { text } = await fetchFrom(
      (_request, response) => response.writeHead(200, { "content-type": "text/markdown" }).end(filler.join("\n\n")),
      {},
      { prompt: "How does the backoff work?" },
    );
    expect(text).toContain("The backoff doubles");
    expect(text.length).toBeLessThan(30_000);
  });
});

describe("a proxy from the environment", () => {
  it("is used, and connects only to the checked address", async () => {
    const { port, seen } = await serve((_request, response) => response.end("through"));
    const proxy = await startTestProxy(port);
    const tool = createWebFetchTool({ ...here, environment: { HTTP_PROXY: proxy.url } });
    const output = await tool.run({ url: "http://pages.test/a" }, testContext({ allow: () => true }));
    expect(textOfOutput(output)).toContain("through");
    expect(seen[0]?.headers.host).toBe("pages.test");
    expect(proxy.asked).toEqual(["127.0.0.1:80"]);
    await proxy.close();
  });

  it("can't be used to reach addresses that are not public", async () => {
    const proxy = await startTestProxy(1);
    const lookup = async () => [{ address: "10.0.0.1", family: 4 }];
    const tool = createWebFetchTool({ lookup, environment: { HTTP_PROXY: proxy.url } });
    const output = await tool.run({ url: "http://pages.test/a" }, testContext({ allow: () => true }));
    expect(textOfOutput(output)).toContain("resolves to 10.0.0.1");
    expect(proxy.asked).toEqual([]);
    await proxy.close();
  });

  it.each([
    ["socks5://me:secret@proxy.test:1", "HTTP_PROXY names a socks5 proxy"],
    ["http://proxy.test:99999", "HTTP_PROXY is not a valid proxy address"],
    ["http://127.0.0.1:1", "the proxy 127.0.0.1:1 can't be reached (ECONNREFUSED). Check HTTP_PROXY"],
  ])("causes an error, and no direct request, if it can't be used: %s", async (HTTP_PROXY, message) => {
    const { port, seen } = await serve((_request, response) => response.end("direct"));
    const tool = createWebFetchTool({ ...here, environment: { HTTP_PROXY } });
    const output = await tool.run({ url: `http://pages.test:${port}/` }, testContext({ allow: () => true }));
    expect(output.isError).toBe(true);
    expect(textOfOutput(output)).toContain(message);
    expect(textOfOutput(output)).not.toContain("secret");
    expect(seen).toEqual([]);
  });
});
