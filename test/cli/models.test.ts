import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createPlace, retinue, serve } from "./command-line.ts";

const parsed = ({ stdout }: { stdout: string }) => JSON.parse(stdout);

it("the list shows what is known, and what the key can reach", async () => {
  const place = createPlace();
  const server = await serve([], { models: ["claude-haiku-5-5", "claude-opus-5-5-20260922", "house-1"] });
  const { stdout, code } = await retinue(["models"], { ...place, server });
  expect(code).toBe(0);
  const row = (model: string) => stdout.split("\n").find((line) => line.startsWith(`anthropic/${model} `));
  expect(row("claude-haiku-5-5")).toMatch(/ small +1,000,000 +0\.1 +0\.5 +0\.01 +0\.5 above 100,000 +yes$/);
  expect(row("claude-opus-5-5")).toMatch(/ large .* yes$/);
  expect(row("claude-sonnet-5-5")).toMatch(/ medium .* no$/);
  expect(stdout).toMatch(/openai\/gpt-6-sol .* no key\n/);
  expect(stdout).toContain("anthropic also offers 1 model that Retinue knows nothing about: house-1.");
  const json = parsed(await retinue(["models", "list", "--json", "--provider", "anthropic"], { ...place, server }));
  expect(json.providers).toMatchObject([{ provider: "anthropic", others: ["house-1"], isConfigured: true }]);
  expect(JSON.stringify(json)).not.toContain("sk-");
});

it("the list names providers that can't be asked, and fails", async () => {
  const place = createPlace();
  mkdirSync(place.home);
  const providers = { broken: { baseUrl: "http://127.0.0.1:1", models: { medium: "m-1" } } };
  writeFileSync(join(place.home, "settings.json"), JSON.stringify({ providers }));
  const { stdout, stderr, code } = await retinue(["models"], place);
  expect(code).toBe(1);
  expect(stdout).toMatch(/broken\/m-1 +medium +128,000\? .* \?\n/);
  expect(stderr).toMatch(/^retinue: .*127\.0\.0\.1:1/);
  expect(await retinue(["models", "--provider", "anthropc"], place)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean "anthropic"?'),
  });
});

it("a model is shown under any of its names, also without a key", async () => {
  const place = createPlace();
  const small = await retinue(["models", "show", "haiku", "--provider", "anthropic"], place);
  expect(small.code).toBe(0);
  for (const part of [
    "claude-haiku-5-5\n",
    "window     1,000,000 tokens, with a response of up to 128,000",
    "> 100,000  input $0.5, output $2.5, cache read $0.05",
    "prompts of at least 512 tokens",
    "adaptive: the model decides when to think",
    "low, medium, high, xhigh, max",
    "text, images, tools",
    "anthropic/claude-haiku-5-5, small, haiku",
    "medium = claude-sonnet-5-5",
    'The provider "anthropic" requires a key. Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN',
  ])
    expect(small.stdout).toContain(part);
  const sol = parsed(await retinue(["models", "show", "gpt-6-sol", "--json"], place));
  expect(sol).toMatchObject({ provider: "openai", prices: { longPrompts: [{ above: 272_000 }] }, thinking: "effort" });
  const server = await serve([]);
  const elsewhere = await retinue(["models", "show", "gpt-6-sol"], { ...place, server });
  expect(elsewhere.stdout).toContain("openai is not configured, so anthropic is asked for this model.");
});

it.each([
  [["show", "claude-opus-55"], 'Did you mean "claude-opus-5-5"'],
  [["show", "gpt-6-lunna"], 'Did you mean "gpt-6-luna"'],
  [["show", "claude-3-opus"], 'Use "large" (claude-opus-5-5) instead'],
  [["show"], '"models show" needs the name of a model'],
  [["show", "a", "b"], 'accepts one model, not "b" too'],
  [["test", "offline"], "the offline model is not a language model"],
  [["test", "claude-3-opus"], 'Use "large" (claude-opus-5-5) instead'],
  [["tset", "small"], 'Did you mean "test"'],
])("models %j is refused with what to do instead", async (words, says) => {
  const server = await serve([]);
  const { code, stderr, stdout } = await retinue(["models", ...words], { ...createPlace(), server });
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(says);
  expect(server.requests).toEqual([]);
});

it("a test prints what works and what it cost; its exit code says whether agents can work with the model", async () => {
  const words = "I am going to look at the picture, and then I report its color.";
  const good = await serve([{ content: [words, { tool: "report_color", input: { color: "red" } }] }]);
  const first = await retinue(["models", "test", "small"], { ...createPlace(), server: good });
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(first.stdout).toMatch(
    /^anthropic\/claude-haiku-5-5\n✓ answers .*\n✓ streaming .*\n✓ tools .*\n✓ images .*\n✓ caching .*wrote .*\n\nAgents can work with this model\. \(1 request, \$0\.000\d, .*\)\n$/,
  );
  const blind = await serve([{ content: "No." }]);
  const second = await retinue(["models", "test", "small"], { ...createPlace(), server: blind });
  expect(second.code).toBe(1);
  expect(second.stdout).toMatch(/✗ tools .*\n +→ .*--model/);
  const strange = await serve([], { models: ["claude-haiku-5-5"] });
  const third = await retinue(["models", "test", "claude-haiku-6", "--json"], { ...createPlace(), server: strange });
  expect(third.code).toBe(2);
  expect(parsed(third)).toMatchObject({ isUsable: false, error: { code: "unknown_model" }, requests: 1 });
});
