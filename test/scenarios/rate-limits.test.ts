import { mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import { type ApiServer, createApiServer, type Fault } from "../../src/testing/index.ts";

const OVERLOADED = "claude-opus-5-5";

/** Starts a server that refuses all requests with this key and for this model, and answers all others. */
async function serve(fault: Fault): Promise<ApiServer> {
  const server = await createApiServer({
    script: ({ headers, rawBody }) => {
      const isRefused = headers["x-api-key"] === "first" && rawBody.includes(OVERLOADED);
      return isRefused ? { content: "", fault } : { content: "Hello." };
    },
  });
  onTestFinished(() => server.close());
  return server;
}

/** Opens a session that asks the overloaded model with the overloaded key, unless the options say otherwise. */
async function open({ url }: ApiServer, key: string, options: SessionOptions = {}) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-limits-")));
  const environment = { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url };
  const session = await openSession({ cwd: root, home: false, environment, model: OVERLOADED, ...options });
  onTestFinished(() => session.close());
  return session;
}

/** Starts a prompt and resolves once a recorded event matches. */
async function until(session: Awaited<ReturnType<typeof open>>, type: string) {
  const run = session.prompt("Hello");
  for await (const event of run) if (event.type === type) return { run, event };
  throw new Error(`the run ended without ${type}`);
}

it.each<[string, Fault]>([
  ["429", { kind: "status", status: 429, retryAfter: { seconds: 60 } }],
  ["529", { kind: "status", status: 529, retryAfter: { seconds: 60 } }],
])("a session that is refused with %s delays only sessions with the same key and model", async (_, fault) => {
  const server = await serve(fault);
  const refused = await until(await open(server, "first"), "model.retried");
  expect(refused.event).toMatchObject({ retry: { delayMs: 60_000, status: fault.kind === "status" && fault.status } });

  const alike = await until(await open(server, "first"), "run.delayed");
  expect(alike.event).toMatchObject({ by: "rateLimit" });

  const others = [await open(server, "second"), await open(server, "first", { model: "claude-sonnet-5-5" })];
  const results = await Promise.all(others.map((session) => session.prompt("Hello").result));
  expect(results.map(({ outcome, text }) => [outcome, text])).toEqual([
    ["succeeded", "Hello."],
    ["succeeded", "Hello."],
  ]);
  expect(server.requests.filter(({ rawBody }) => rawBody.includes(OVERLOADED))).toHaveLength(2);
});
