import { describe, expect, it, onTestFinished } from "vitest";
import type { Dialect, Settings } from "../../protocol/index.ts";
import { createApiServer, type Reply, type Script } from "../../testing/index.ts";
import { systemClock } from "../system-clock.ts";
import { testModel } from "./test-model.ts";

const dialects = {
  anthropic: "claude-haiku-5-5",
  openai: "gpt-6-sol",
  responses: "gpt-6-sol",
  gemini: "gemini-3.8-flash",
} satisfies Record<Dialect, string>;
const all = Object.keys(dialects) as Dialect[];
const words = "I am going to look at the picture and then report its color with the tool.";
const report = { tool: "report_color", input: { color: "red" } };
const good: Reply = { content: [words, report] };

async function run(dialect: Dialect, script: Script, key = "k") {
  const server = await createApiServer({ script, apiKey: "k" });
  onTestFinished(() => server.close());
  const provider = dialect === "responses" ? "openai" : dialect;
  const settings: Settings = { providers: { [provider]: { dialect, baseUrl: server.url, apiKeyEnv: "KEY" } } };
  const result = await testModel({
    settings,
    environment: { KEY: key },
    flags: { provider, model: dialects[dialect] },
    clock: systemClock,
  });
  const found = Object.fromEntries(result.checks.map(({ ability, status }) => [ability, status]));
  return { server, result, found };
}

const works = { answers: "works", streaming: "works", tools: "works", images: "works", caching: "works" };

describe.each(all)("the check of a model over the %s dialect", (dialect) => {
  it("shows what works, with as few requests as possible", async () => {
    const { server, result, found } = await run(dialect, [good, { reply: { content: "OK" }, times: "always" }]);
    expect(found).toEqual(works);
    // Chat Completions and Gemini do not report what was written to the cache.
    const requests = dialect === "openai" || dialect === "gemini" ? 2 : 1;
    expect(result).toMatchObject({ isUsable: true, requests });
    expect(result.requests).toBe(server.requests.length);
    expect(server.requests.map(({ refusal }) => refusal)).toEqual(server.requests.map(() => undefined));
    expect(result.usage.outputTokens).toBeGreaterThan(0);
    expect(result.costUsd).toBeGreaterThan(0);
    expect(result.costUsd).toBeLessThan(0.02);
  });

  it("finds out whether the tool or the picture is refused", async () => {
    const refused = (what: string): Reply => ({
      content: "",
      fault: { kind: "status", status: 400, message: `This model does not support ${what}.` },
    });
    const ok: Reply = { content: words };
    const images = await run(dialect, [refused("images"), good, { reply: ok, times: "always" }]);
    expect(images.found).toEqual({ ...works, images: "fails" });
    expect(images.result.isUsable).toBe(true);
    expect(images.result.checks).toContainEqual(
      expect.objectContaining({ ability: "images", found: expect.stringContaining("does not support images") }),
    );
    const red: Reply = { content: "I see that the picture is red, all of it, from one side to the other." };
    const tools = await run(dialect, [refused("tools"), refused("tools"), red, { reply: ok, times: "always" }]);
    expect(tools.found).toEqual({ ...works, tools: "fails" });
    expect(tools.result.isUsable).toBe(false);
    expect(tools.result.checks).toContainEqual(
      expect.objectContaining({ ability: "tools", fix: expect.stringContaining("Choose another one") }),
    );
  });

  it("notices a model that calls no tool and does not see the picture", async () => {
    const blind: Reply = { content: "I am going to report the color, but I see no picture here at all." };
    const { found, result } = await run(dialect, [{ reply: blind, times: "always" }]);
    expect(found).toEqual({ ...works, tools: "fails", images: "fails" });
    expect(result.isUsable).toBe(false);
  });

  it("says why a model does not answer, with one request", async () => {
    const { result, server } = await run(dialect, [], "wrong");
    expect(result).toMatchObject({ isUsable: false, requests: 1, error: { code: "auth" } });
    expect(result.checks).toEqual([{ ability: "answers", status: "fails", found: result.error?.message }]);
    expect(server.requests).toHaveLength(1);
  });
});

it("nothing is seen of a cache, and no price is known, for a server that reports neither", async () => {
  const usage = { inputTokens: 900, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const server = await createApiServer({ script: [{ reply: { ...good, usage }, times: "always" }], requireKey: false });
  onTestFinished(() => server.close());
  const settings: Settings = { providers: { local: { baseUrl: server.url, models: { medium: "qwen4" } } } };
  const result = await testModel({ settings, environment: {}, flags: { provider: "local" }, clock: systemClock });
  expect(result).toMatchObject({ model: "qwen4", isUsable: true, requests: 2, costUsd: undefined });
  expect(result.checks.at(-1)).toMatchObject({ ability: "caching", status: "unknown" });
});
