import { expect, it, onTestFinished } from "vitest";
import { explainCache, openSession, reportCache } from "../../src/app/index.ts";
import { createApiServer, type RecordedRequest } from "../../src/testing/index.ts";
import { newPlace } from "./delegation-place.ts";

const minimumTokens = { "claude-opus-5": 512, "claude-sonnet-4-5": 1_024, "claude-haiku-4-5": 4_096 };

it("lets every subagent read as many of its tools as the main agent wrote before it", async () => {
  const { plan, worker } = await delegateWith("claude-opus-5");
  expect(plan.cache?.read).toBe(tokensOfTools(plan));
  expect(worker.cache?.read).toBe(tokensOfTools(worker));
});

it("lets a subagent write tools that are too few to be cached alone", async () => {
  const { plan, worker, path } = await delegateWith("claude-sonnet-4-5");
  expect(tokensOfTools(plan)).toBeLessThan(1_024);
  expect(plan.cache).toMatchObject({ read: 0, missed: 0, written: plan.cache?.prompt });
  expect(worker.cache?.read).toBe(tokensOfTools(worker));
  expect((await explainCache(path)).every(({ reason }) => reason === undefined)).toBe(true);
});

it("reports that requests below a model's minimum are not cached, and misses nothing in them", async () => {
  const { path, requests } = await delegateWith("claude-haiku-4-5");
  expect(requests.map(({ cache }) => [cache?.read, cache?.written, cache?.missed])).toEqual(
    requests.map(() => [0, 0, 0]),
  );
  const { total, belowMinimum } = await reportCache(path);
  expect(total.idealReadTokens).toBe(0);
  expect(belowMinimum).toEqual([{ model: "claude-haiku-4-5", minimumTokens: 4_096, requests: 5, tooShort: 5 }]);
});

/** Runs a main agent that calls Plan and then general-purpose, on a server with each model's minimum. */
async function delegateWith(model: string) {
  const place = newPlace();
  const task = (subagent_type: string) => ({
    tool: "Task",
    input: { description: "d", prompt: "Look.", subagent_type },
  });
  const server = await createApiServer({
    cache: { minimumTokens },
    script: (_, { count }) => ({
      content: [[task("Plan")], "Seen.", [task("general-purpose")], "Done."][count - 1] ?? "End.",
    }),
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
  const [, plan, , worker] = server.requests;
  if (plan === undefined || worker === undefined) throw new Error(`${server.requests.length} requests`);
  return { plan, worker, requests: server.requests, path: session.transcriptPath ?? "" };
}

/** As the server counts them: four bytes a token, without cache marks. */
function tokensOfTools({ body }: RecordedRequest): number {
  const { tools } = body as { readonly tools: readonly { cache_control?: unknown }[] };
  const bytes = tools.map(({ cache_control, ...tool }) => Buffer.byteLength(JSON.stringify(tool)));
  return Math.ceil(bytes.reduce((sum, one) => sum + one, 0) / 4);
}
