import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { testContext, textOfOutput } from "../shared/tool-context.test-support.ts";
import type { Search, SearchHit } from "./search.ts";
import { searchEngineFor } from "./search-engine-for.ts";
import { createWebSearchTool } from "./web-search.ts";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<{ baseUrl: string; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const hit = (url: string): SearchHit => ({ title: "T", url, snippet: "S" });
const finds =
  (...urls: string[]): Search =>
  async () => ({ ok: true, hits: urls.map(hit) });

function engine(...parameters: Parameters<typeof searchEngineFor>): Search {
  const choice = searchEngineFor(...parameters);
  if ("absent" in choice) throw new Error(choice.absent);
  return choice.engine;
}

const run = (search: Search, input: Record<string, string | string[]> = {}) =>
  createWebSearchTool({ search }).run({ query: "node streams", ...input }, testContext());

describe("WebSearch", () => {
  it("numbers titles, URLs and snippets", async () => {
    const output = await run(async () => ({
      ok: true,
      summary: "In short.",
      hits: [{ title: "Streams\nguide", url: "https://nodejs.org/s", snippet: "How  to" }, hit("https://a.test/")],
    }));
    expect(textOfOutput(output)).toContain(
      "In short.\n1. Streams guide\n   https://nodejs.org/s\n   How to\n2. T\n   https://a.test/\n   S",
    );
  });

  it("filters domains by label, whatever the engine returns", async () => {
    const found = finds("https://docs.a.test/1", "https://bada.test/2", "https://b.test/3", "javascript:4");
    expect(textOfOutput(await run(found, { allowed_domains: ["a.test"] }))).not.toMatch(/bada|b\.test|javascript/);
    const others = textOfOutput(await run(found, { blocked_domains: ["a.test"] }));
    expect(others).toMatch(/bada\.test/);
    expect(others).not.toMatch(/docs\.a\.test|javascript/);
  });

  it("asks for fewer words if the query is too long", async () => {
    const never: Search = () => Promise.reject(new Error("asked"));
    const output = await run(never, { query: "word ".repeat(1_000) });
    expect(output).toMatchObject({ isError: true, content: expect.stringContaining("fewer words") });
  });

  it("reports when nothing was found or the engine failed", async () => {
    expect(textOfOutput(await run(finds()))).toContain("No results for");
    const failed = await run(async () => ({ ok: false, message: "No luck." }));
    expect(failed).toMatchObject({ isError: true, content: "No luck." });
  });
});

describe("engines", () => {
  it("include SearXNG on the user's own machine", async () => {
    const { baseUrl, seen } = await serve((_request, response) =>
      response.end(
        JSON.stringify({ results: [{ title: "A &amp; B", url: "https://a.test/", content: "x" }, { title: 7 }] }),
      ),
    );
    const search = engine({ engine: "searxng", baseUrl: `${baseUrl}/sx/` }, {});
    const output = await run(search, { allowed_domains: ["a.test"] });
    expect(textOfOutput(output)).toContain("1. A & B\n   https://a.test/\n   x");
    const asked = new URL(seen[0]?.url ?? "", baseUrl);
    expect(asked.pathname).toBe("/sx/search");
    expect(asked.searchParams.get("format")).toBe("json");
    expect(asked.searchParams.get("q")).toBe("node streams site:a.test");
  });

  it("include Brave with a key from the environment", async () => {
    const { baseUrl, seen } = await serve((_request, response) =>
      response.end(
        JSON.stringify({
          web: { results: [{ title: "A", url: "https://a.test/", description: "a <strong>b</strong>" }] },
        }),
      ),
    );
    const search = engine({ engine: "brave", baseUrl, apiKeyEnv: "MY_KEY" }, { MY_KEY: "k1" });
    expect(textOfOutput(await run(search))).toContain("1. A\n   https://a.test/\n   a b");
    expect(seen[0]?.headers["x-subscription-token"]).toBe("k1");
  });

  it.each([
    [403, "", "settings.yml"],
    [500, "", "responded with status 500"],
    [200, "<html>", "did not return JSON"],
  ])("explain a response with status %s and body %j", async (status, body, words) => {
    const { baseUrl } = await serve((_request, response) => response.writeHead(status).end(body));
    const output = await run(engine({ engine: "searxng", baseUrl }, {}));
    expect(output.isError).toBe(true);
    expect(textOfOutput(output)).toContain(words);
  });

  it("explain an unreachable server, and never show the key", async () => {
    const output = await run(engine({ engine: "brave", baseUrl: "http://127.0.0.1:1" }, { BRAVE_API_KEY: "secret" }));
    expect(textOfOutput(output)).toMatch(/could not be reached/);
    expect(textOfOutput(output)).not.toContain("secret");
  });
});

describe("searchEngineFor", () => {
  it.each([
    [undefined, {}, "set `search.engine`"],
    [{ engine: "off" }, {}, "is off because"],
    [{ engine: "searxng" }, {}, "search.baseUrl"],
    [{ engine: "searxng", baseUrl: "ftp://x" }, {}, "not an http"],
    [{ engine: "brave" }, {}, "BRAVE_API_KEY"],
    [{ engine: "anthropic" }, {}, "no Anthropic provider"],
  ] as const)("explains why there is no engine, with %j", (settings, environment, words) => {
    const choice = searchEngineFor(settings, environment);
    expect("absent" in choice && choice.absent).toContain(words);
  });

  it("uses the provider's own search if it is available", () => {
    const anthropic = finds();
    expect(searchEngineFor(undefined, {}, { anthropic })).toEqual({ engine: anthropic });
    expect(searchEngineFor({ engine: "anthropic" }, {}, { anthropic })).toEqual({ engine: anthropic });
  });
});
