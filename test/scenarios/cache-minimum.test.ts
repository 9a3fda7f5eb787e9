import { setTimeout as wait } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { explainCache, openSession, reportCache } from "../../src/app/index.ts";
import { type ApiServer, createApiServer, type RecordedRequest, type Reply } from "../../src/testing/index.ts";
import { newPlace } from "./delegation-place.ts";

const minimumTokens = { "claude-opus-5": 512, "claude-sonnet-4-5": 1_024, "claude-haiku-4-5": 4_096 };

it("every subagent reads the tools that the main agent has written to the cache", async () => {
  const { first, worker } = await delegateWith("claude-opus-5");
  expect(first.cache?.read).toBe(tokensOfTools(first));
  expect(worker.cache?.read).toBe(tokensOfTools(worker));
});

it("a subagent writes tools to the cache if they were too few to be cached alone", async () => {
  const { first, worker, path } = await delegateWith("claude-sonnet-4-5", "statusline-setup");
  expect(tokensOfTools(first)).toBeLessThan(1_024);
  expect(first.cache).toMatchObject({ read: 0, missed: 0, written: first.cache?.prompt });
  expect(worker.cache?.read).toBe(tokensOfTools(worker));
  expect((await explainCache(path)).every(({ reason }) => reason === undefined)).toBe(true);
});

it("requests below a model's minimum are reported as not cached, and no misses are counted for them", async () => {
  const { path, requests } = await delegateWith("claude-haiku-4-5");
  const short = requests.flatMap(({ cache }) => (cache !== undefined && cache.prompt < 4_096 ? [cache] : []));
  expect(short.map(({ read, written, missed }) => [read, written, missed])).toEqual(short.map(() => [0, 0, 0]));
  const { total, belowMinimum } = await reportCache(path);
  expect(short.length).toBeGreaterThan(0);
  expect(total.idealReadTokens).toBe(total.usage.cacheReadTokens);
  expect(belowMinimum).toEqual([
    { model: "claude-haiku-4-5", minimumTokens: 4_096, requests: 5, tooShort: short.length },
  ]);
});

it("the first of several identical agents sends its request before the others, so that they read from its cache", async () => {
  const { first, second } = await delegateTwice("claude-opus-5", () => wait(50));
  expect(first.cache).toMatchObject({ read: tokensOfTools(first), missed: 0 });
  expect(second.cache?.missed).toBe(0);
  // Only the prompts differ.
  expect(second.cache?.written).toBeLessThan(30);
});

it.each([
  ["too large", "claude-haiku-4-5", "Plan"],
  ["unknown", "claude-next", "general-purpose"],
])("identical agents send their requests at the same time if the minimum is %s: %s, %s", async (_, model, agent) => {
  const both = (server: ApiServer) => Promise.race([server.waitForRequest(3), wait(2_000)]);
  const { first, second } = await delegateTwice(model, both, agent);
  expect(second.arrivedAt).toBeLessThanOrEqual(first.firstByteAt ?? 0);
});

/** Runs a main agent that starts two identical agents at once. `hold` delays the answer to the first agent. */
async function delegateTwice(model: string, hold: (server: ApiServer) => Promise<unknown>, agent = "general-purpose") {
  const calls = ["Look.", "See."].map((prompt) => taskCall(agent, prompt));
  const { requests } = await run(model, async ({ ordinal }, server) => {
    if (ordinal === 2) await hold(server);
    return { content: ordinal === 1 ? calls : "Done." };
  });
  const [, first, second] = requests;
  if (first === undefined || second === undefined) throw new Error(`${requests.length} requests`);
  return { first, second };
}

/** Runs a main agent that calls Plan, or another agent with few tools, and then general-purpose. */
async function delegateWith(model: string, agent = "Plan") {
  const answers = [[taskCall(agent)], "Seen.", [taskCall("general-purpose")], "Done.", "End."];
  const { requests, path } = await run(model, async ({ ordinal }) => ({ content: answers[ordinal - 1] ?? "" }));
  const [, first, , worker] = requests;
  if (first === undefined || worker === undefined) throw new Error(`${requests.length} requests`);
  return { first, worker, requests, path };
}

const taskCall = (subagent_type: string, prompt = "Look.") => ({
  tool: "Task",
  input: { description: "d", prompt, subagent_type },
});

/** Runs a session on a server that caches nothing shorter than the model's minimum. */
async function run(model: string, reply: (request: RecordedRequest, server: ApiServer) => Promise<Reply>) {
  const place = newPlace();
  const server: ApiServer = await createApiServer({
    cache: { minimumTokens },
    script: (request) => reply(request, server),
  });
  onTestFinished(() => server.close());
  const environment = {
    PATH: process.env["PATH"],
    HOME: place.home,
    ANTHROPIC_API_KEY: "k",
    ANTHROPIC_BASE_URL: server.url,
  };
  const session = await openSession({ ...place, model, environment });
  await session.prompt("Begin.").result;
  await session.close();
  return { requests: server.requests, path: session.transcriptPath ?? "" };
}

/** Counts the tokens in the tools as the server does: four bytes per token, without cache marks. */
function tokensOfTools({ body }: RecordedRequest): number {
  const { tools } = body as { readonly tools: readonly { cache_control?: unknown }[] };
  const bytes = tools.map(({ cache_control, ...tool }) => Buffer.byteLength(JSON.stringify(tool)));
  return Math.ceil(bytes.reduce((sum, one) => sum + one, 0) / 4);
}
