import { mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSession, type RunResult, type SessionOptions } from "../../src/app/index.ts";
import {
  type ApiServer,
  createApiServer,
  messagesOf,
  type RecordedRequest,
  type Reply,
  type Wire,
} from "../../src/testing/index.ts";

const read = (path: string): Reply => ({ content: ["Reading.", { tool: "Read", input: { file_path: path } }] });
const manyReads: Reply = {
  content: Array.from({ length: 24 }, (_, index) => ({
    tool: "Read",
    input: { file_path: "notes.txt", offset: index + 1 },
  })),
};

const calls = ({ content }: Reply) => (typeof content === "string" ? [] : content.slice(1));

const openai = (url: string) => ({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: `${url}/v1` });
const environments = {
  anthropic: (url: string) => ({ ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: url }),
  openai,
  responses: openai,
  gemini: (url: string) => ({ GEMINI_API_KEY: "k", GOOGLE_GEMINI_BASE_URL: url }),
};
const speaksResponses = { providers: { openai: { dialect: "responses" } } } as const;

interface Talk {
  readonly server: ApiServer;
  readonly result: RunResult;
  readonly place: { readonly home: string; readonly cwd: string };
  readonly id: string;
  readonly notices: readonly string[];
}

async function talk(wire: Wire, script: Reply[], options: SessionOptions = {}): Promise<Talk> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-wire-")));
  const place = { home: join(root, "home"), cwd: mkdtempSync(join(root, "work-")) };
  writeFileSync(
    join(place.cwd, "notes.txt"),
    Array.from({ length: 60 }, (_, index) => `line ${index} — ünïcode 😀`).join("\n"),
  );
  const server = await createApiServer({ script });
  try {
    const settings = wire === "responses" ? { ...speaksResponses, ...options.settings } : options.settings;
    const session = await openSession({ ...place, ...options, settings, environment: environments[wire](server.url) });
    const result = await session.prompt("Read the notes.").result;
    await session.close();
    return { server, result, place: { home: place.home, cwd: session.cwd }, id: session.id, notices: session.notices };
  } finally {
    await server.close();
  }
}

function unmarked({ rawBody }: RecordedRequest): string {
  return rawBody.toString("utf8").replaceAll(',"cache_control":{"type":"ephemeral"}', "");
}

/** Returns the part of a request that the next request must begin with. */
function withoutEnd(body: string): string {
  return body.replace(/\],"(max_(completion_|output_)?tokens":\d+|generationConfig":\{.*\})\}$/, "");
}

describe.each(["anthropic", "openai", "responses", "gemini"] as const)("a session over the %s wire format", (wire) => {
  it("sends each request as a byte-for-byte continuation of the previous one", async () => {
    const { server, result } = await talk(wire, [
      read("notes.txt"),
      read("missing.txt"),
      manyReads,
      { content: "Done." },
    ]);
    server.assertDone();
    expect(result).toMatchObject({ outcome: "succeeded", turns: 4, text: "Done." });
    const bodies = server.requests.map(unmarked);
    for (const [index, body] of bodies.entries()) {
      const before = bodies[index - 1];
      if (before) expect(body.startsWith(withoutEnd(before))).toBe(true);
    }
  });

  it("counts every token as the provider does", async () => {
    const { server, result } = await talk(wire, [read("notes.txt"), { content: "Done." }]);
    const accounts = server.requests.map((request) => request.cache);
    const total = accounts.reduce((sum, account) => sum + (account?.prompt ?? 0), 0);
    const { inputTokens, cacheReadTokens, cacheWriteTokens } = result.usage;
    expect(inputTokens + cacheReadTokens + cacheWriteTokens).toBe(total);
    expect(cacheReadTokens).toBe(accounts.reduce((sum, account) => sum + (account?.read ?? 0), 0));
    expect(cacheReadTokens).toBeGreaterThan(0);
  });
});

it("the cost of an interrupted stream is counted, but its tokens do not add to the conversation's size", async () => {
  const cut: Reply = { content: "It breaks off here.", fault: { kind: "close", afterBytes: 900 } };
  const { server, result, place, id } = await talk("anthropic", [cut, { content: "Done." }]);
  const [first, second] = server.requests.map(({ cache }) => cache?.prompt ?? 0);
  expect(result).toMatchObject({ outcome: "succeeded", turns: 1 });
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = result.usage;
  expect(inputTokens + cacheReadTokens + cacheWriteTokens).toBe((first ?? 0) + (second ?? 0));
  const spent = (first ?? 0) + (second ?? 0) + result.usage.outputTokens;
  const again = await openSession({
    ...place,
    resume: id,
    settings: { budget: { tokens: spent } },
    environment: environments.anthropic(server.url),
  });
  const refused = await again.prompt("Go on.").result;
  await again.close();
  expect(refused.message).toContain(`${spent.toLocaleString("en")} tokens used, 0 tokens left`);
});

describe("the prompt cache", () => {
  it("is read up to the previous request, even after a turn with many calls", async () => {
    const { server } = await talk("anthropic", [read("notes.txt"), manyReads, read("notes.txt"), { content: "Done." }]);
    const accounts = server.requests.map((request) => request.cache);
    for (const [index, account] of accounts.entries()) {
      const before = accounts[index - 1];
      if (before) expect(account?.read).toBe(before.read + before.written);
      expect(account?.missed).toBe(0);
    }
  });

  it("is read by a resumed session, which sends the same bytes", async () => {
    const first = await talk("anthropic", [read("notes.txt"), { content: "Done." }]);
    const server = await createApiServer({ script: [{ content: "Again." }] });
    const session = await openSession({
      ...first.place,
      resume: first.id,
      environment: environments.anthropic(server.url),
    });
    await session.prompt("And now?").result;
    await session.close();
    await server.close();
    const [last] = first.server.requests.slice(-1).map(unmarked);
    const [resumed] = server.requests.map(unmarked);
    expect(resumed?.startsWith(withoutEnd(last ?? "missing"))).toBe(true);
  });
});

describe("the first request", () => {
  it("contains all tools in at most 20 KB", async () => {
    const { server } = await talk("anthropic", [{ content: "Done." }]);
    const [request] = server.requests;
    const body = request?.body as { tools: { name: string }[] };
    expect(body.tools.map((tool) => tool.name)).toEqual([
      "Read",
      "Grep",
      "Glob",
      "LS",
      "WebFetch",
      "WebSearch",
      "Edit",
      "Write",
      "NotebookEdit",
      "Bash",
      "BashOutput",
      "KillShell",
      "TodoWrite",
      "Task",
      "TaskOutput",
      "TaskStop",
      "SendMessage",
    ]);
    expect(request?.bodyBytes).toBeLessThan(20 * 1_024);
  });
});

describe("WebSearch through the provider", () => {
  const search: Reply = {
    content: [
      {
        block: {
          type: "web_search_tool_result",
          tool_use_id: "s",
          content: [{ type: "web_search_result", url: "https://a.test/", title: "A" }],
        },
      },
      "It is so.",
    ],
    usage: { inputTokens: 700, outputTokens: 70 },
  };
  const searching = { tool: "WebSearch", input: { query: "is it so" } };

  it("is one small separate request, and its tokens are charged", async () => {
    const script = [{ content: [searching] }, search, { content: "Yes." }];
    const { server, result } = await talk("anthropic", script, { allowedTools: ["WebSearch"] });
    server.assertDone();
    const [first, searched, last] = server.requests;
    expect(searched?.body).toMatchObject({ tools: [{ name: "web_search" }] });
    expect(unmarked(last as RecordedRequest)).toContain("https://a.test/");
    expect(result.outcome).toBe("succeeded");
    const ownInput = [first, last].reduce((sum, request) => sum + (request?.cache?.prompt ?? 0), 0);
    const { inputTokens, cacheReadTokens, cacheWriteTokens } = result.usage;
    expect(inputTokens + cacheReadTokens + cacheWriteTokens).toBe(ownInput + 700);
    const limited = await talk("anthropic", script, {
      allowedTools: ["WebSearch"],
      settings: { budget: { turns: 2 } },
    });
    expect(limited.result).toMatchObject({ outcome: "incomplete", reason: "budget" });
    expect(limited.result.message).toContain("2 requests used");
  });

  it.each([
    [{ tokens: 20_000 }, /can't make this call: the limit is 20,000 tokens \([\d,]+ tokens used, [\d,]+ tokens left; /],
    [{ usd: 0.07 }, /can't make this call: the limit is \$0\.0700 \(\$0\.0\d+ used, \$0\.0\d+ left; it needs \$0\.1/],
  ])("is not used if the budget %o may not be enough, and the agent continues without it", async (budget, words) => {
    const { server, result } = await talk("anthropic", [{ content: [searching] }, { content: "I don't know." }], {
      allowedTools: ["WebSearch"],
      settings: { budget },
    });
    server.assertDone();
    expect(result).toMatchObject({ outcome: "succeeded", text: "I don't know." });
    expect(JSON.stringify(server.requests.at(-1)?.body)).toMatch(words);
  });

  it("waits for other reservations, and replaces its own with the actual cost", async () => {
    const script = [
      { content: [searching, searching, searching] },
      ...Array.from({ length: 3 }, () => ({ ...search, pacing: { delayMs: 20 } })),
      { content: "Yes." },
    ];
    const options = { allowedTools: ["WebSearch"], settings: { budget: { tokens: 50_000 } } };
    const { server, result } = await talk("anthropic", script, options);
    server.assertDone();
    expect(result.outcome).toBe("succeeded");
    const [, ...searches] = server.requests.slice(0, 4);
    for (const [index, { arrivedAt }] of searches.entries()) {
      const before = searches[index - 1];
      if (before) expect(arrivedAt).toBeGreaterThanOrEqual(before.lastByteAt ?? Number.POSITIVE_INFINITY);
    }
  });
});

describe("OpenAI's Responses API", () => {
  const thinking = { content: [{ thinking: "Let me look." }, "Reading.", ...calls(read("notes.txt"))] };

  it.each(["small", "medium", "large", "gpt-6.2-astra"])("lets %s reason with tools, at any effort", async (model) => {
    const options = { model, effort: "high" } as const;
    const { server, result, notices } = await talk(
      "responses",
      [thinking, read("notes.txt"), { content: "Done." }],
      options,
    );
    server.assertDone();
    expect(result).toMatchObject({ outcome: "succeeded", text: "Done." });
    expect(notices.join()).not.toContain("effort");
    for (const { body } of server.requests)
      expect(body).toMatchObject({ reasoning: { effort: "high", summary: "auto" }, store: false });
    type Input = { readonly input: { readonly type?: string; readonly phase?: string }[] };
    const [, , items = []] = server.requests.map(({ body }) => (body as Input).input);
    expect(items.filter(({ type }) => type === "reasoning")).toHaveLength(2);
    expect(items.flatMap(({ phase }) => phase ?? [])).toEqual(["commentary", "commentary"]);
  });

  it("sends a request again without reasoning if OpenAI can't read it, and later requests too", async () => {
    const message = "The encrypted content for item rs_1 could not be verified.";
    const refused: Reply = { content: "", fault: { kind: "status", status: 400, message } };
    const script = [thinking, refused, read("notes.txt"), { content: "Done." }];
    const { server, result } = await talk("responses", script, { model: "gpt-6.2-sol" });
    expect(result).toMatchObject({ outcome: "succeeded", text: "Done." });
    const counts = server.requests.map(({ rawBody }) => rawBody.toString().split('"type":"reasoning"').length - 1);
    // The last request contains only what the model has written since then.
    expect(counts).toEqual([0, 1, 0, 1]);
  });

  it.each([
    ["openai", "responses"],
    ["responses", "openai"],
  ] as const)("continues a session from %s with %s, without its reasoning", async (before, after) => {
    const model = "gpt-5.1";
    const first = await talk(before, [thinking, { content: "Done." }], { model });
    const server = await createApiServer({
      script: [{ content: [{ thinking: "Hm." }, "Again."] }, { content: "Bye." }],
    });
    const settings = after === "responses" ? speaksResponses : {};
    const environment = openai(server.url);
    const session = await openSession({ ...first.place, resume: first.id, model, settings, environment });
    const results = [await session.prompt("Go on.").result, await session.prompt("And?").result];
    await session.close();
    await server.close();
    server.assertDone();
    expect(results.map(({ text }) => text)).toEqual(["Again.", "Bye."]);
    const [resumed, next] = server.requests.map((request) => messagesOf(request));
    expect(resumed?.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user"]);
    expect(resumed?.map((message) => message.thinking).join("")).toBe("");
    expect(resumed?.flatMap(({ toolCalls }) => toolCalls)).toMatchObject([{ name: "Read" }]);
    expect(next?.map((message) => message.thinking).join("")).toBe(after === "responses" ? "Hm." : "");
  });
});

describe("Google's Gemini API", () => {
  const thinking = { content: [{ thinking: "Let me look." }, "Reading.", ...calls(read("notes.txt"))] };

  it.each([
    ["small", "gemini-3.8-flash"],
    ["medium", "gemini-3.8-flash"],
    ["large", "gemini-4-argon"],
    ["gemini-4-argon", "gemini-4-argon"],
  ])("lets %s think with tools, at the highest level that it has", async (name, model) => {
    const options = { model: name, effort: "max" } as const;
    const { server, result, notices } = await talk("gemini", [thinking, manyReads, { content: "Done." }], options);
    server.assertDone();
    expect(result).toMatchObject({ outcome: "succeeded", text: "Done." });
    expect(notices.join()).toContain('"high"');
    expect(server.requests.map((request) => request.model)).toEqual([model, model, model]);
    const thinkingConfig = { includeThoughts: true, thinkingLevel: "HIGH" };
    for (const { body } of server.requests) expect(body).toMatchObject({ generationConfig: { thinkingConfig } });
    expect(
      messagesOf(server.requests[2]!)
        .map((message) => message.thinking)
        .join(""),
    ).toBe("Let me look.");
    expect(server.requests[2]?.rawBody.toString()).not.toContain(notSigned);
  });

  it("costs what its prices say, with cached tokens and thoughts", async () => {
    const { server, result } = await talk("gemini", [thinking, { content: "Done." }], { model: "large" });
    const cached = server.requests.reduce((sum, { cache }) => sum + (cache?.read ?? 0), 0);
    const prompts = server.requests.reduce((sum, { cache }) => sum + (cache?.prompt ?? 0), 0);
    expect(cached).toBeGreaterThan(1_000);
    const dollars = (prompts - cached) * 4 + cached * 0.2 + result.usage.outputTokens * 20;
    expect(result.costUsd).toBeCloseTo(dollars / 1_000_000, 9);
  });

  it("sends a request again without signatures if Google can't read them, and later requests too", async () => {
    const refused: Reply = {
      content: "",
      fault: { kind: "status", status: 400, message: "Thought signature is not valid." },
    };
    const { server, result } = await talk("gemini", [thinking, refused, read("notes.txt"), { content: "Done." }]);
    expect(result).toMatchObject({ outcome: "succeeded", text: "Done." });
    const counts = server.requests.map(({ rawBody }) => {
      const [all, unsigned] = ['"thoughtSignature"', notSigned].map(
        (part) => rawBody.toString().split(part).length - 1,
      );
      return [all, unsigned];
    });
    expect(counts).toEqual([
      [0, 0],
      [1, 0],
      [1, 1],
      [2, 1],
    ]);
  });

  it.each(["gemini-3.8-flash", "claude-opus-5-5"])("gets no signatures of %s", async (model) => {
    const wire = model.startsWith("gemini") ? "gemini" : "anthropic";
    const first = await talk(wire, [thinking, { content: "Done." }], { model });
    const server = await createApiServer({ script: [{ content: "Again." }] });
    const environment = environments.gemini(server.url);
    const session = await openSession({ ...first.place, resume: first.id, model: "gemini-4-argon", environment });
    const result = await session.prompt("Go on.").result;
    await session.close();
    await server.close();
    server.assertDone();
    expect(result.text).toBe("Again.");
    expect(
      messagesOf(server.requests[0]!)
        .map((message) => message.thinking)
        .join(""),
    ).toBe("");
    expect(server.requests[0]?.rawBody.toString()).toContain(notSigned);
  });
});

const notSigned = "skip_thought_signature_validator";

describe("OpenAI models that accept tools only without reasoning", () => {
  it.each(["small", "medium", "large"])("work for %s, with a notice", async (model) => {
    const { server, result } = await talk("openai", [read("notes.txt"), { content: "Done." }], { model });
    expect(result).toMatchObject({ outcome: "succeeded", text: "Done." });
    for (const { body } of server.requests) expect(body).toMatchObject({ reasoning_effort: "none" });
  });

  it("get a notice instead of an effort level, unlike a model that can reason with tools", async () => {
    const script = [{ content: "Done." }];
    const silent = await talk("openai", script, { effort: "high", model: "gpt-6-sol" });
    expect(silent.result.outcome).toBe("succeeded");
    expect(silent.server.requests[0]?.body).toMatchObject({ reasoning_effort: "none" });
    expect(silent.notices.join()).toContain('effort "high" is omitted');
    const older = await talk("openai", script, { effort: "high", model: "gpt-5.1" });
    expect(older.server.requests[0]?.body).toMatchObject({ reasoning_effort: "high" });
  });

  it("end with advice if reasoning can't be switched off", async () => {
    const { result } = await talk("openai", [{ content: "Never." }], { model: "gpt-6-astra" });
    expect(result.outcome).toBe("failed");
    expect(result.message).toMatch(
      /gpt-6-astra does not support tools over Chat Completions.*the `model` option, such as gpt-6-sol/,
    );
  });
});
