import { describe, expect, it } from "vitest";
import { Chain } from "../conversation/index.ts";
import { type Dialect, dialects, type Head, type JsonSchema, type UserBlock } from "../protocol/index.ts";
import { type ApiServer, type Fault, messagesOf, type Reply, type ReplyPart } from "../testing/index.ts";
import { callerFor, serve } from "./wire.test-support.ts";

// What every dialect must do with whole conversations. The server checks requests as the provider does. Single
// responses, faults, aborts and split streams are tested in wire-model, faults, abort and stream-split.

const models: Record<Dialect, string> = { anthropic: "claude-opus-5-5", openai: "gpt-5.1", responses: "gpt-6.2-sol" };
const image = { type: "image" as const, mediaType: "image/png" as const, data: "iVBORw0KGgo=" };
const text = (said: string): UserBlock => ({ type: "text", text: said });
const result = (callId: string, said: string, isError = false): UserBlock => ({
  type: "tool_result",
  callId,
  content: [{ type: "text", text: said }],
  isError,
});

function headOf(dialect: Dialect): Head {
  const inputSchema = { type: "object", properties: { path: { type: "string" } } };
  const tools = ["Read", "LS"].map((name) => ({ name, description: `${name}. `.repeat(400), inputSchema }));
  const provider = { provider: dialect, model: models[dialect], dialect, thinking: "adaptive" as const };
  return { ...provider, tools, system: "Be brief.", systemContext: "linux", userContext: "" };
}

/** Starts a conversation with a server that gives these replies. */
async function converse(dialect: Dialect, script: readonly Reply[]) {
  const server = await serve({ script });
  const chain = new Chain(headOf(dialect));
  const caller = callerFor(server.url, dialect, { model: models[dialect] });
  let requests = 0;
  const say = async (content: readonly UserBlock[], answerSchema?: JsonSchema) => {
    chain.append({ role: "user", content });
    requests += 1;
    const request = requests;
    const callId = (index: number) => `main_${request}_${index}`;
    const call = await caller.call({ prompt: chain.request(), callId, answerSchema });
    if (!call.outcome.ok) throw new Error(call.outcome.error.message);
    chain.append(call.outcome.message);
    return { ...call, outcome: call.outcome };
  };
  return { server, chain, caller, say };
}

function sent(server: ApiServer, request: number): string {
  return server.requests[request - 1]?.rawBody.toString() ?? "";
}

describe.each(dialects)("a conversation over the %s dialect", (dialect) => {
  it("can call several tools at once, and gets their results with the right calls", async () => {
    const calls: ReplyPart[] = [
      "I'll look.",
      { tool: "Read", inputJson: '{"path":"ä", "n":1.0}' },
      { tool: "Read", input: { path: "b" } },
      { tool: "LS", inputJson: "" },
    ];
    const { server, say } = await converse(dialect, [{ content: calls }, { content: "Done." }]);
    const { outcome } = await say([text("Look.")]);
    expect(outcome.stopReason).toBe("tool_calls");
    const results = [result("main_1_0", "one"), result("main_1_1", "two", true), result("main_1_2", "")];
    const last = await say([...results, text("Go on.")]);
    expect(last.outcome).toMatchObject({ stopReason: "end_turn", usage: { outputTokens: expect.any(Number) } });
    const seen = messagesOf(server.requests[1]!);
    const called = seen.flatMap(({ toolCalls }) => toolCalls);
    expect(called.map(({ name, input }) => [name, input])).toEqual([
      ["Read", { path: "ä", n: 1 }],
      ["Read", { path: "b" }],
      ["LS", {}],
    ]);
    const given = seen.flatMap(({ toolResults }) => toolResults);
    expect(given.map(({ id }) => id)).toEqual(called.map(({ id }) => id));
    expect(given.map((each) => each.text)).toEqual([
      "one",
      dialect === "anthropic" ? "two" : "Error: two",
      dialect === "anthropic" ? "" : "(no output)",
    ]);
    expect(seen.at(-1)?.text).toBe("Go on.");
    server.assertDone();
  });

  it("can contain images, also in results", async () => {
    const { server, say } = await converse(dialect, [{ content: [{ tool: "Read" }] }, { content: "A dot." }]);
    await say([text("What is this?"), image]);
    await say([{ type: "tool_result", callId: "main_1_0", content: [image], isError: false }]);
    expect(sent(server, 1).split(image.data)).toHaveLength(2);
    expect(sent(server, 2).split(image.data)).toHaveLength(3);
    server.assertDone();
  });

  it("sends back thinking exactly as it was written, wherever the dialect has a place for it", async () => {
    const thinking = [{ thinking: ["First", " this."] }, "So.", { thinking: "Then that." }, { tool: "LS" }] as const;
    const again = [{ thinking: "And now?" }, { tool: "LS" }] as const;
    const script: Reply[] = [{ content: thinking }, { content: again }, { content: "Done." }];
    const { server, say, chain } = await converse(dialect, script);
    const first = await say([text("Look.")]);
    const shown = first.progress.map((event) => (event.type === "thinking.delta" ? event.text : "")).join("");
    expect(shown).toBe("First this.Then that.");
    await say([result("main_1_0", "nothing")]);
    await say([result("main_2_0", "nothing")]);
    const thoughts = messagesOf(server.requests[2]!).map((message) => message.thinking);
    const expected = ["", "First this.\nThen that.", "", "And now?", ""];
    expect(thoughts).toEqual(dialect === "openai" ? expected.map(() => "") : expected);
    const [answer] = chain.messages().filter(({ role }) => role === "assistant");
    const texts = (answer?.content ?? []).flatMap((block) => (block.type === "thinking" ? [block.text] : []));
    expect(texts).toEqual(["First this.", "Then that."]);
    server.assertDone();
  });

  it("can be continued after thinking between calls, and after thinking alone", async () => {
    const calls: ReplyPart[] = [{ thinking: "A." }, { tool: "LS" }, { thinking: "B." }, { tool: "LS" }];
    const script: Reply[] = [{ content: calls }, { content: [{ thinking: "C." }] }, { content: "Done." }];
    const { server, say } = await converse(dialect, script);
    await say([text("Look.")]);
    await say([result("main_1_0", "x"), result("main_1_1", "y")]);
    await say([text("Well?")]);
    // Calls are sent with ids of our own, so thinking after a call would no longer follow what it was written after.
    expect(sent(server, 3)).not.toContain("B.");
    expect(messagesOf(server.requests[2]!).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
    ]);
    server.assertDone();
  });

  it("can continue a conversation that began in another dialect, without its thinking", async () => {
    const script: Reply[] = [{ content: [{ thinking: "Hm." }, "So.", { tool: "LS" }] }, { content: "Done." }];
    for (const other of dialects.filter((each) => each !== dialect)) {
      const { chain, say } = await converse(other, script);
      await say([text("Look."), image]);
      const results = [result("main_1_0", "nothing"), text("Well?")];
      const server = await serve({ script: [{ content: "Done." }] });
      const next = chain.withHead(headOf(dialect));
      next.append({ role: "user", content: results });
      const caller = callerFor(server.url, dialect, { model: models[dialect] });
      expect((await caller.call({ prompt: next.request() })).outcome).toMatchObject({ ok: true });
      expect(messagesOf(server.requests[0]!).map((each) => [each.role, each.text, each.thinking])).toEqual([
        ["user", "Look.", ""],
        ["assistant", "So.", ""],
        ...(dialect === "openai" ? [["user", "", ""]] : []),
        ["user", "Well?", ""],
      ]);
      server.assertDone();
    }
  });

  it("leaves out thinking after a fork with other tools, and continues", async () => {
    const { server, say, chain, caller } = await converse(dialect, [
      { content: [{ thinking: "Hm." }, "Well."] },
      { content: "Done." },
    ]);
    await say([text("Look.")]);
    const fork = chain.withHead({ ...chain.head, tools: chain.head.tools.slice(1) });
    fork.append({ role: "user", content: [text("Again.")] });
    const { outcome } = await caller.call({ prompt: fork.request() });
    expect(outcome.ok).toBe(true);
    expect(sent(server, 2)).not.toContain("Hm.");
    server.assertDone();
  });

  it("reads what it has sent before from the cache, and counts that separately", async () => {
    const { server, say } = await converse(dialect, [{ content: "One." }, { content: "Two." }]);
    await say([text("Look. ".repeat(200))]);
    const { outcome } = await say([text("And now?")]);
    const { cacheReadTokens, cacheWriteTokens, inputTokens } = outcome.usage;
    expect(cacheReadTokens).toBe(server.requests[1]?.cache?.read);
    expect(cacheReadTokens).toBeGreaterThan(1_000);
    expect(cacheReadTokens + cacheWriteTokens + inputTokens).toBe(server.requests[1]?.cache?.prompt);
  });

  it.each<[string, NonNullable<Reply["stopReason"]>, string]>([
    ["a refusal", "refusal", "refusal"],
    ["a response that is cut off", "max_tokens", "max_tokens"],
  ])("recognizes %s and keeps its text", async (_, stopReason, expected) => {
    const { say } = await converse(dialect, [{ content: "I won't", stopReason }]);
    const { outcome } = await say([text("Do it.")]);
    expect(outcome.stopReason).toBe(expected);
    expect(outcome.message.content.at(-1)).toMatchObject({ type: "text", text: "I won't" });
  });

  it("ignores unknown events", async () => {
    const content = [{ thinking: "Hm." }, "Well.", { tool: "LS" }];
    const { server, say } = await converse(dialect, [{ content, fault: { kind: "unknown-events" } }]);
    const { outcome } = await say([text("Look.")]);
    expect(outcome.message.content.at(-2)).toMatchObject({ type: "text", text: "Well." });
    expect(outcome).toMatchObject({ stopReason: "tool_calls", incompleteCalls: 0 });
    server.assertDone();
  });

  it.each<[string, string, string]>([
    ["an invalid request", "invalid_request_error", "bad_request"],
    ["a wrong key", "authentication_error", "auth"],
    ["a conversation that is too long", "context_length_exceeded", "context_overflow"],
  ])("does not repeat a request if the stream reports %s", async (_, errorType, code) => {
    const fault: Fault = { kind: "error-event", errorType, message: "It did not work." };
    const server = await serve({ script: [{ content: "Half of it", fault }] });
    const { outcome } = await callerFor(server.url, dialect).call();
    expect(outcome).toMatchObject({ ok: false, error: { code, message: expect.stringContaining("It did not work") } });
    expect(server.requests).toHaveLength(1);
  });

  it("asks for no more summaries of the reasoning once the provider has refused them", async () => {
    const message = "Your organization must be verified to generate reasoning summaries.";
    const fault: Fault = { kind: "status", status: 400, message };
    const server = await serve({ script: [{ reply: { content: "Yes." }, faults: [fault], times: "always" }] });
    const prompt = new Chain(headOf(dialect));
    prompt.append({ role: "user", content: [text("Well?")] });
    const caller = callerFor(server.url, dialect, { model: models[dialect] });
    const calls = [await caller.call({ prompt: prompt.request() }), await caller.call({ prompt: prompt.request() })];
    const asked = server.requests.map(({ rawBody }) => rawBody.includes('"summary"'));
    expect(asked).toEqual(dialect === "responses" ? [true, false, false] : [false, false]);
    expect(calls.map(({ outcome }) => outcome.ok)).toEqual([dialect === "responses", true]);
    expect(sent(server, 2)).not.toContain("summary");
  });

  it("asks for thinking no more once a gateway has refused it", async () => {
    const message = "thinking.display: Extra inputs are not permitted";
    const fault: Fault = { kind: "status", status: 400, message };
    const server = await serve({ script: [{ reply: { content: "Yes." }, faults: [fault], times: "always" }] });
    const prompt = new Chain(headOf(dialect));
    prompt.append({ role: "user", content: [text("Well?")] });
    const caller = callerFor(server.url, dialect, { model: models[dialect] });
    const calls = [await caller.call({ prompt: prompt.request() }), await caller.call({ prompt: prompt.request() })];
    const asked = server.requests.map(({ rawBody }) => rawBody.includes('"display":"summarized"'));
    expect(asked).toEqual(dialect === "anthropic" ? [true, false, false] : [false, false]);
    expect(calls.map(({ outcome }) => outcome.ok)).toEqual([dialect === "anthropic", true]);
  });

  it("can ask for an answer that matches a schema", async () => {
    const { server, say } = await converse(dialect, [{ content: '{"n":1}' }]);
    const properties = { n: { type: "number", minimum: 1 } };
    await say([text("How many?")], { type: "object", properties, required: ["n"] });
    expect(sent(server, 1)).toMatch(/"(response_format|output_config|text)":\{/);
    server.assertDone();
  });
});
