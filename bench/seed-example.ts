import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSession } from "../src/app/index.ts";
import { type CacheAccount, createApiServer, type RecordedRequest, type Reply } from "../src/testing/index.ts";

export interface SeedExample {
  /** Cache usage of the request whose answer starts the forks. */
  readonly parent: CacheAccount;
  /** Cache usage of the forks' first requests, in order of arrival. */
  readonly forks: readonly CacheAccount[];
  readonly bodies: readonly string[];
}

/** Sizes in tokens of four bytes each. */
const parentTokens = 60_000;
const answerTokens = 2_000;
const directiveTokens = 200;
const forkCount = 3;

/** Runs a conversation of 60,000 tokens; an answer of 2,000 tokens starts three forks with directives of 200 tokens. */
export async function seedExample(): Promise<SeedExample> {
  const empty = await converse("", "");
  const base = empty[0]?.cache?.prompt ?? 0;
  const requests = await converse(filler(parentTokens - base), filler(answerTokens - 753));
  const [parent, ...others] = requests.flatMap(({ cache }) => cache ?? []);
  if (parent === undefined || others.length !== forkCount + 1) throw new Error(`${requests.length} requests`);
  return {
    parent,
    forks: others.slice(0, forkCount),
    bodies: requests.slice(1, forkCount + 1).map(({ rawBody }) => rawBody.toString("utf8")),
  };
}

async function converse(words: string, thoughts: string): Promise<readonly RecordedRequest[]> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-seed-")));
  const reply = (request: RecordedRequest): Reply => {
    const body = request.rawBody.toString("utf8");
    if (!body.includes('"role":"assistant"')) return { content: [`Three ways. ${thoughts}`, ...calls()] };
    return { content: body.includes("part is done") ? "All is done." : "This part is done." };
  };
  const server = await createApiServer({ script: reply, thinks: false });
  const environment = {
    PATH: process.env["PATH"],
    HOME: root,
    ANTHROPIC_API_KEY: "k",
    ANTHROPIC_BASE_URL: server.url,
  };
  try {
    const session = await openSession({ home: join(root, "home"), cwd: root, environment, settings: { fork: "on" } });
    const { outcome, message } = await session.prompt(`Think it through. ${words}`).result;
    await session.close();
    if (outcome !== "succeeded") throw new Error(message);
    return server.requests;
  } finally {
    await server.close();
    rmSync(root, { recursive: true, force: true });
  }
}

/** Returns the calls that start the forks. Ten tokens of each directive are left for the text around it on the wire. */
function calls(): { readonly tool: string; readonly input: object }[] {
  return Array.from({ length: forkCount }, (_, index) => ({
    tool: "Task",
    input: { description: `way ${index + 1}`, prompt: `Try way ${index + 1}. ${filler(directiveTokens - 10)}` },
  }));
}

function filler(tokens: number): string {
  const bytes = Math.max(0, tokens * 4);
  return "word ".repeat(Math.ceil(bytes / 5)).slice(0, bytes);
}
