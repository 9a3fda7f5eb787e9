import { describe, expect, it } from "vitest";
import { agentTool, openSession, type SessionOptions } from "../../src/app/index.ts";
import type { EventOf } from "../../src/protocol/index.ts";
import { createApiServer, type RecordedRequest, type Reply } from "../../src/testing/index.ts";
import { newPlace, task } from "./delegation-place.ts";

interface Seen {
  readonly started: EventOf<"run.started"> | undefined;
  readonly notices: readonly string[];
  /** Models of all requests, in order. */
  readonly asked: readonly unknown[];
}

/** Runs a delegation against a model API server. */
async function delegate(more: Record<string, unknown>, options: SessionOptions = {}): Promise<Seen> {
  const { input } = task("CHILD: go", more);
  const script: Reply[] = [
    { content: [{ tool: "Task", input }] },
    { content: "The child's answer." },
    { content: "Done." },
  ];
  const server = await createApiServer({ script });
  try {
    const environment = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url };
    const session = await openSession({ ...newPlace(), environment, ...options });
    const run = session.prompt("MAIN: do it.");
    const notices: string[] = [];
    let started: EventOf<"run.started"> | undefined;
    for await (const update of run) {
      if (update.type !== "subagent.event") continue;
      if (update.event.type === "notice.raised") notices.push(update.event.message);
      if (update.event.type === "run.started") started = update.event;
    }
    expect((await run.result).outcome).toBe("succeeded");
    await session.close();
    server.assertDone();
    return { started, notices, asked: server.requests.map(({ body }) => (body as { model?: unknown }).model) };
  } finally {
    await server.close();
  }
}

describe("the model in a call", () => {
  it("is sent unchanged if it is unknown, and this is reported and recorded", async () => {
    const { started, notices, asked } = await delegate({ model: "claude-unheard-9" });
    expect(asked).toEqual(["claude-sonnet-5-5", "claude-unheard-9", "claude-sonnet-5-5"]);
    expect(started).toMatchObject({ requestedModel: "claude-unheard-9", model: "claude-unheard-9" });
    expect(started?.modelReason).toContain("model from the call");
    expect(notices).toEqual([expect.stringContaining('Unknown anthropic model "claude-unheard-9"')]);
  });

  it("causes no notice if it is a tier or a known model", async () => {
    const small = await delegate({ model: "small" });
    expect(small.started).toMatchObject({ requestedModel: "small", model: "claude-haiku-5-5" });
    const known = await delegate({ model: "claude-opus-5" });
    expect(known.started).toMatchObject({ requestedModel: "claude-opus-5", model: "claude-opus-5" });
    expect([...small.notices, ...known.notices]).toEqual([]);
  });

  it("may be a name that is used elsewhere, which is resolved or refused, but never sent", async () => {
    const medium = "claude-sonnet-5-5";
    const cases: readonly (readonly [name: string, sent: string, notice?: RegExp])[] = [
      ["opus[1m]", "claude-opus-5-5"],
      ["fable", "claude-fable-5-2"],
      ["claude-haiku-4.5", "claude-haiku-4-5"],
      ["opusplan", medium, /^Agent "helper": .*"opusplan" means/],
      ["claude-haiku-4-5[1m]", "claude-haiku-4-5", /no larger context window/],
      ["claude-3-7-sonnet-latest", medium, /uses its parent's model: .*since 2026-02-19\. Use "medium"/],
    ];
    for (const [model, sent, notice] of cases) {
      const agents = { helper: { description: "Helps. Use when asked.", prompt: "Help.", model } };
      const seen = await delegate({ subagent_type: "helper" }, { agents });
      expect([model, ...seen.asked]).toEqual([model, medium, sent, medium]);
      expect(seen.started).toMatchObject({ requestedModel: model, model: sent });
      expect(seen.notices).toEqual(notice === undefined ? [] : [expect.stringMatching(notice)]);
    }
  });

  it("takes precedence over the definition's, which takes precedence over the parent's", async () => {
    const agents = {
      cheap: { description: "Saves. Use when it may cost little.", prompt: "Save.", model: "haiku" },
      heir: { description: "Inherits. Use when needed.", prompt: "Inherit.", model: "inherit" },
    };
    const settings = { subagents: { model: "opus" } };
    const modelOf = async (more: Record<string, unknown>) =>
      (await delegate(more, { agents, settings })).started?.model;
    expect(await modelOf({ subagent_type: "cheap", model: "opus" })).toBe("claude-opus-5-5");
    expect(await modelOf({ subagent_type: "cheap" })).toBe("claude-haiku-5-5");
    expect(await modelOf({})).toBe("claude-opus-5-5");
    expect(await modelOf({ subagent_type: "heir" })).toBe("claude-sonnet-5-5");
  });
});

describe("an agent's provider", () => {
  const agents = {
    other: { description: "Compares. Use when asked.", prompt: "Compare.", model: "openai/gpt-6-sol" },
    maker: { description: "Compares. Use when asked.", prompt: "Compare.", model: "gpt-6-sol" },
  };
  const script = (agent: string): Reply[] => [
    { content: [{ tool: "Task", input: task("CHILD: go", { subagent_type: agent }).input }] },
    { content: "Done." },
  ];

  it.each(["other", "maker"])("is the one that its model names, by prefix or by maker (%s)", async (agent) => {
    const anthropic = await createApiServer({ script: script(agent) });
    const openai = await createApiServer({ script: [{ content: "The child's answer." }] });
    const environment = {
      ANTHROPIC_API_KEY: "k",
      ANTHROPIC_BASE_URL: anthropic.url,
      OPENAI_API_KEY: "other",
      OPENAI_BASE_URL: `${openai.url}/v1`,
    };
    const session = await openSession({ ...newPlace(), environment, agents });
    const run = session.prompt("MAIN: do it.");
    const started: EventOf<"run.started">[] = [];
    for await (const update of run)
      if (update.type === "subagent.event" && update.event.type === "run.started") started.push(update.event);
    await session.close();
    await Promise.all([anthropic.close(), openai.close()]);
    anthropic.assertDone();
    openai.assertDone();
    expect(openai.requests.map(({ body }) => (body as { model?: unknown }).model)).toEqual(["gpt-6-sol"]);
    expect(started).toMatchObject([{ model: "gpt-6-sol", modelReason: expect.stringContaining(`agent ${agent}`) }]);
  });

  it.each([
    [{ model: "small" }, {}, "provider from the parent agent, model from the call"],
    [{ subagent_type: "maker" }, {}, "provider from the parent agent, model from agent maker"],
    [{}, { subagents: { model: "small" } }, "provider from the parent agent, model from settings.subagents.model"],
    [{}, { subagents: { model: "inherit" } }, "the parent's model, requested by settings.subagents.model"],
    [{}, {}, "the parent's model"],
  ])("is recorded with the reason: %j, settings %j", async (more, settings, reason) => {
    expect((await delegate(more, { agents, settings })).started?.modelReason).toBe(reason);
  });

  it("is its parent's if no other one is configured", async () => {
    const { started } = await delegate({ subagent_type: "maker" }, { agents });
    expect(started).toMatchObject({ model: "gpt-6-sol", provider: "anthropic" });
    expect(started?.modelReason).toBe("provider from the parent agent, model from agent maker");
  });
});

describe("a resumed agent", () => {
  /**
   * Returns the models of an agent's three runs, with the reasons: started with a model, then resumed, then resumed with
   * `again` in a new process.
   */
  async function modelsOf(again: Record<string, unknown>): Promise<readonly string[]> {
    const agentOf = (request: RecordedRequest): string => / id=\\?"(a\w+)/.exec(request.rawBody.toString())?.[1] ?? "";
    const goOn = (request: RecordedRequest, more: Record<string, unknown> = {}): Reply => ({
      content: [{ tool: "Task", input: task("more", { resume: agentOf(request), ...more }).input }],
    });
    const replies: ((request: RecordedRequest) => Reply)[] = [
      () => ({ content: [{ tool: "Task", input: task("CHILD: go", { model: "haiku" }).input }] }),
      () => ({ content: "First." }),
      goOn,
      () => ({ content: "Second." }),
      () => ({ content: "Done." }),
      (request) => goOn(request, again),
      () => ({ content: "Third." }),
      () => ({ content: "Done again." }),
    ];
    const server = await createApiServer({ script: (request) => replies.shift()?.(request) ?? { content: "?" } });
    const at = newPlace();
    const environment = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url };
    const models: string[] = [];
    let resume: string | undefined;
    try {
      for (const words of ["MAIN: do it.", "MAIN: and more."]) {
        const session = await openSession({ ...at, environment, ...(resume === undefined ? {} : { resume }) });
        const run = session.prompt(words);
        for await (const update of run)
          if (update.type === "subagent.event" && update.event.type === "run.started")
            models.push(`${update.event.model} (${update.event.modelReason.replace(/.*model from /, "")})`);
        expect((await run.result).outcome).toBe("succeeded");
        resume = session.id;
        await session.close();
      }
    } finally {
      await server.close();
    }
    return models;
  }

  it("keeps the requested model, even in a later process", async () => {
    expect(await modelsOf({})).toEqual([
      "claude-haiku-5-5 (the call)",
      "claude-haiku-5-5 (its last run)",
      "claude-haiku-5-5 (its last run)",
    ]);
  });

  it("uses the model in the call that resumes it", async () => {
    expect(await modelsOf({ model: "opus" })).toEqual([
      "claude-haiku-5-5 (the call)",
      "claude-haiku-5-5 (its last run)",
      "claude-opus-5-5 (the call)",
    ]);
  });
});

describe("rules about models", () => {
  const agents = {
    grand: { description: "Thinks. Use when it is hard.", prompt: "Think.", model: "large" },
    heir: { description: "Inherits. Use when needed.", prompt: "Inherit.", model: "inherit" },
  };

  /** Calls Task once. Returns the models that were asked, the call's result and the models that a person was asked about. */
  async function attempt(more: Record<string, unknown>, options: SessionOptions) {
    const { input } = task("CHILD: go", more);
    const server = await createApiServer({
      script: ({ rawBody }) => {
        const text = rawBody.toString();
        if (text.includes("tool_result")) return { content: "Done." };
        return text.includes("MAIN: do it.")
          ? { content: [{ tool: "Task", input }] }
          : { content: "The child's answer." };
      },
    });
    const asked: string[] = [];
    try {
      const environment = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url };
      const approvals = {
        ask: async ({ decision }: { decision: { rule: string } }) => {
          asked.push(decision.rule);
          return { answer: "allow" as const };
        },
      };
      const session = await openSession({ ...newPlace(), environment, agents, approvals, ...options });
      expect((await session.prompt("MAIN: do it.").result).outcome).toBe("succeeded");
      await session.close();
      const models = server.requests.map(({ body }) => String((body as { model?: unknown }).model));
      return { models, asked, result: JSON.stringify(resultIn(server.requests.at(-1))) };
    } finally {
      await server.close();
    }
  }

  /** Returns the result of the call in the last message. */
  const resultIn = (request: RecordedRequest | undefined): unknown =>
    (request?.body as { messages: readonly { content: unknown }[] } | undefined)?.messages.at(-1)?.content;

  const opusSession = { model: "opus" };
  it.each<[string, Record<string, unknown>, SessionOptions]>([
    ["Agent(model:opus)", { model: "opus" }, {}],
    ["Agent(model:opus)", { model: "large" }, {}],
    ["Agent(model:opus)", { model: "claude-opus-5-5" }, {}],
    ["Agent(model:opus)", { model: "anthropic/claude-opus-5-5" }, {}],
    ["Agent(model:opus)", { model: "claude-opus-4-7" }, {}],
    ["Agent(model:large)", { model: "opus" }, {}],
    ["Agent(model:claude-opus-5-5)", { model: "large" }, {}],
    ["Agent(model:anthropic/claude-opus-5-5)", { model: "opus" }, {}],
    ["Agent(model:*opus*)", { model: "large" }, {}],
    ["Agent(model:OPUS)", { model: "large" }, {}],
    ["Agent(model:opus)", {}, opusSession],
    ["Agent(model:opus)", { subagent_type: "heir" }, opusSession],
    ["Agent(model:opus)", { subagent_type: "heir", model: "inherit" }, opusSession],
    ["Agent(model:opus)", { subagent_type: "fork" }, { ...opusSession, settings: { fork: "on" } }],
    ["Agent(model:opus)", { subagent_type: "grand" }, {}],
    ["Agent(model:opus)", {}, { settings: { subagents: { model: "large" } } }],
    [
      "Agent(model:fast)",
      { model: "small" },
      { settings: { providers: { anthropic: { models: { small: "fast" } } } } },
    ],
  ])("%s denies the model however it was chosen: %j, %j", async (rule, more, options) => {
    const seen = await attempt(more, { ...options, disallowedTools: [rule] });
    expect(seen.models).toHaveLength(2);
    expect(seen.result).toContain(`The rule \`${rule}\` (a session option) denies`);
    const settings = { ...options.settings, permissions: { ask: [rule] } };
    const again = await attempt(more, { ...options, settings });
    expect(again.asked).toEqual([rule]);
    expect(again.models).toHaveLength(3);
  });

  it.each<[string, Record<string, unknown>, SessionOptions]>([
    ["Agent(model:opus)", { model: "small" }, opusSession],
    ["Agent(model:opus)", {}, {}],
    ["Agent(model:claude-opus-4-7)", { model: "opus" }, {}],
    ["Agent(model:small)", { model: "claude-sonnet-5-5" }, {}],
  ])("%s leaves other models: %j, %j", async (rule, more, options) => {
    const seen = await attempt(more, { ...options, disallowedTools: [rule] });
    expect(seen.models).toHaveLength(3);
    expect(seen.result).toContain("The child's answer.");
  });

  it("apply to tools that start an agent", async () => {
    const tools = [agentTool({ name: "ponder", description: "Thinks.", agent: "grand" })];
    const server = await createApiServer({
      script: [{ content: [{ tool: "ponder", input: { prompt: "CHILD: go" } }] }, { content: "Done." }],
    });
    const environment = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url };
    const rules = { disallowedTools: ["Agent(model:opus)"] };
    const session = await openSession({ ...newPlace(), environment, agents, tools, ...rules });
    await session.prompt("MAIN: do it.").result;
    await session.close();
    await server.close();
    server.assertDone();
    expect(server.requests.at(-1)?.rawBody.toString()).toContain("Agent(model:opus)");
  });
});
