import { describe, expect, it } from "vitest";
import type { Reply } from "../../testing/index.ts";
import { createLimiter } from "../limits/limiter.ts";
import { connectionsForTest, providerAt, realClock, serve } from "../wire.test-support.ts";
import { createAnthropicSearch } from "./anthropic-search.ts";

const result = (url: string, title: string, page_age?: string) => ({
  type: "web_search_result",
  url,
  title,
  encrypted_content: "x",
  ...(page_age ? { page_age } : {}),
});

const found: Reply = {
  content: [
    { block: { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "x" } } },
    {
      block: {
        type: "web_search_tool_result",
        tool_use_id: "srv_1",
        content: [
          result("https://a.test/1", "One", "2 days ago"),
          result("https://b.test/2", "Two"),
          result("https://a.test/1", "One"),
        ],
      },
    },
    "Both say ",
    "the same.",
  ],
};

const none = { allowedDomains: [], blockedDomains: [] };

async function searchAgainst(script: readonly Reply[], more: Parameters<typeof providerAt>[2] = {}) {
  const server = await serve({ script, validate: false });
  const search = createAnthropicSearch({
    provider: providerAt(server.url, "anthropic", more),
    model: "small-one",
    limiter: createLimiter({ clock: realClock }),
    clock: realClock,
    connections: connectionsForTest(),
    retry: { maxAttempts: 1 },
  });
  return { server, search };
}

describe("the provider's search", () => {
  it("declares only the search tool, and returns links and a summary", async () => {
    const { server, search } = await searchAgainst([found]);
    const outcome = await search(
      "what is new",
      { allowedDomains: ["a.test"], blockedDomains: [] },
      new AbortController().signal,
    );
    expect(outcome).toMatchObject({
      ok: true,
      hits: [
        { title: "One", url: "https://a.test/1", snippet: "(2 days ago)" },
        { title: "Two", url: "https://b.test/2", snippet: "" },
      ],
      summary: "Both say the same.",
    });
    expect(server.requests[0]?.body).toMatchObject({
      model: "small-one",
      tools: [{ type: "web_search_20250305", name: "web_search", allowed_domains: ["a.test"] }],
      messages: [{ role: "user", content: expect.stringContaining("what is new") }],
    });
    expect(JSON.stringify(server.requests[0]?.body)).not.toContain("blocked_domains");
  });

  it("costs its tokens and a fee for each successful search, with the maximum known in advance", async () => {
    const prices = { "small-one": { input: 2, output: 10, cacheRead: 0, cacheWrite: 0 } };
    const error = { type: "web_search_tool_result_error", error_code: "unavailable" };
    const failed = { block: { type: "web_search_tool_result", tool_use_id: "s", content: error } };
    const usage = { inputTokens: 9_000, outputTokens: 100 };
    const reply = { content: [...found.content, ...found.content.slice(0, 2), failed] as Reply["content"], usage };
    const { search } = await searchAgainst([reply], { prices });
    const outcome = await search("what is new", none, new AbortController().signal);
    expect(outcome.costUsd).toBeCloseTo((9_000 * 2 + 100 * 10) / 1e6 + 2 * 0.01, 9);
    expect(search.takes).toMatchObject({ tokens: 34_048, model: "small-one" });
    expect(search.takes.usd).toBeCloseTo((32_000 * 2 + 2_048 * 10) / 1e6 + 3 * 0.01, 9);
    expect((await searchAgainst([])).search.takes).not.toHaveProperty("usd");
  });

  it("reports failures in the search or before it", async () => {
    const content = [
      {
        block: {
          type: "web_search_tool_result",
          tool_use_id: "s",
          content: { type: "web_search_tool_result_error", error_code: "max_uses_exceeded" },
        },
      },
    ];
    const failing = await searchAgainst([{ content }]);
    expect(await failing.search("x", none, new AbortController().signal)).toMatchObject({
      ok: false,
      message: expect.stringContaining("max_uses_exceeded"),
    });
    const refused = await searchAgainst([{ content: "", fault: { kind: "status", status: 401 } }]);
    expect(await refused.search("x", none, new AbortController().signal)).toMatchObject({
      ok: false,
      message: expect.stringContaining("ANTHROPIC_API_KEY"),
    });
    const aborted = await searchAgainst([]);
    expect(await aborted.search("x", none, AbortSignal.abort())).toMatchObject({ ok: false });
  });
});
