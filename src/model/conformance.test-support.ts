import { describe, expect, it } from "vitest";
import { Chain } from "../conversation/index.ts";
import type { Head, JsonSchema, UserBlock } from "../protocol/index.ts";
import { type ApiServer, type Fault, messagesOf, type Reply, type ReplyPart } from "../testing/index.ts";
import { type Caller, serve } from "./wire.test-support.ts";

/** A model that is tested, and that reaches the model API server of the tests. */
export interface ConformanceSubject {
  readonly name: string;
  /** Provider and model as in the heads of the conversations. The server applies the rules for this model. */
  readonly head: Pick<Head, "provider" | "model" | "dialect" | "thinking">;
  /** Returns a caller for the model, which sends its requests to the server at this URL. */
  readonly caller: (url: string) => Pick<Caller, "call">;
  /** False if there is no place for thinking in its requests. */
  readonly returnsThinking?: boolean;
  /** True if calls keep the provider's ids, so that thinking after a call is sent back too. */
  readonly keepsCallIds?: boolean;
  /** True if the package behind the model reports events that it does not know as errors. */
  readonly knowsAllEvents?: boolean;
  /** True if the package behind the model merges all thinking in a response. */
  readonly mergesThinking?: boolean;
}

export const image = { type: "image" as const, mediaType: "image/png" as const, data: "iVBORw0KGgo=" };
export const text = (said: string): UserBlock => ({ type: "text", text: said });
export const result = (callId: string, said: string, isError = false): UserBlock => ({
  type: "tool_result",
  callId,
  content: [{ type: "text", text: said }],
  isError,
});

export function headOf({ head }: Pick<ConformanceSubject, "head">): Head {
  const inputSchema = { type: "object", properties: { path: { type: "string" } } };
  const tools = ["Read", "LS"].map((name) => ({ name, description: `${name}. `.repeat(400), inputSchema }));
  return { ...head, tools, system: "Be brief.", systemContext: "linux", userContext: "" };
}

/** Starts a conversation with a server that gives these replies. */
export async function converse(subject: ConformanceSubject, script: readonly Reply[]) {
  const server = await serve({ script });
  const chain = new Chain(headOf(subject));
  const caller = subject.caller(server.url);
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

export function sent(server: ApiServer, request: number): string {
  return server.requests[request - 1]?.rawBody.toString() ?? "";
}

/** Calls the model once. */
async function callOnce(subject: ConformanceSubject, script: Parameters<typeof serve>[0]["script"]) {
  const server = await serve({ script });
  const prompt = new Chain(headOf(subject));
  prompt.append({ role: "user", content: [text("Hello.")] });
  return { server, ...(await subject.caller(server.url).call({ prompt: prompt.request() })) };
}

/**
 * Describes what every model must do with whole conversations. The server checks requests as the provider does. Any
 * implementation of `Model` can be a subject.
 */
export function describeConformance(subject: ConformanceSubject): void {
  const { name, returnsThinking = true, keepsCallIds, knowsAllEvents, mergesThinking } = subject;
  describe(`a conversation with a model over ${name}`, () => {
    it("shows a response while it is written, and returns all of it", async () => {
      const { say } = await converse(subject, [{ content: [{ text: ["Hello", ", ", "wörld 🙂"] }] }]);
      const { outcome, progress } = await say([text("Hi.")]);
      const deltas = progress.flatMap((event) => (event.type === "text.delta" ? event.text : []));
      expect(deltas.join("")).toBe("Hello, wörld 🙂");
      expect(deltas.length).toBeGreaterThan(1);
      expect(outcome.message.content).toContainEqual(
        expect.objectContaining({ type: "text", text: "Hello, wörld 🙂" }),
      );
      expect(outcome).toMatchObject({ stopReason: "end_turn", incompleteCalls: 0 });
    });

    it("can call several tools at once, and gets their results with the right calls", async () => {
      const calls: ReplyPart[] = [
        "I'll look.",
        { tool: "Read", inputJson: '{"path":"ä", "n":1.0}' },
        { tool: "Read", input: { path: "b" } },
        { tool: "LS", inputJson: "" },
      ];
      const { server, say } = await converse(subject, [{ content: calls }, { content: "Done." }]);
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
      // Where results have no place for it, the text says that a call has failed.
      const said = given.map((each) => (each.isError ? `Error: ${each.text}` : each.text));
      expect(said.slice(0, 2)).toEqual(["one", "Error: two"]);
      expect(["", "(no output)"]).toContain(said[2]);
      expect(seen.at(-1)?.text).toBe("Go on.");
      server.assertDone();
    });

    it("can contain images, also in results", async () => {
      const { server, say } = await converse(subject, [{ content: [{ tool: "Read" }] }, { content: "A dot." }]);
      await say([text("What is this?"), image]);
      await say([{ type: "tool_result", callId: "main_1_0", content: [image], isError: false }]);
      expect(sent(server, 1).split(image.data)).toHaveLength(2);
      expect(sent(server, 2).split(image.data)).toHaveLength(3);
      server.assertDone();
    });

    (mergesThinking ? it.fails : it)(
      "sends back thinking exactly as it was written, wherever there is a place for it",
      async () => {
        const thinking = [
          { thinking: ["First", " this."] },
          "So.",
          { thinking: "Then that." },
          { tool: "LS" },
        ] as const;
        const again = [{ thinking: "And now?" }, { tool: "LS" }] as const;
        const script: Reply[] = [{ content: thinking }, { content: again }, { content: "Done." }];
        const { server, say, chain } = await converse(subject, script);
        const first = await say([text("Look.")]);
        const shown = first.progress.map((event) => (event.type === "thinking.delta" ? event.text : "")).join("");
        expect(shown).toBe("First this.Then that.");
        await say([result("main_1_0", "nothing")]);
        await say([result("main_2_0", "nothing")]);
        const thoughts = messagesOf(server.requests[2]!).map((message) => message.thinking);
        const expected = ["", "First this.\nThen that.", "", "And now?", ""];
        expect(thoughts).toEqual(returnsThinking ? expected : expected.map(() => ""));
        const [answer] = chain.messages().filter(({ role }) => role === "assistant");
        const texts = (answer?.content ?? []).flatMap((block) => (block.type === "thinking" ? [block.text] : []));
        expect(texts).toEqual(["First this.", "Then that."]);
        server.assertDone();
      },
    );

    it("can be continued after thinking between calls, and after thinking alone", async () => {
      const calls: ReplyPart[] = [{ thinking: "A." }, { tool: "LS" }, { thinking: "B." }, { tool: "LS" }];
      const script: Reply[] = [{ content: calls }, { content: [{ thinking: "C." }] }, { content: "Done." }];
      const { server, say } = await converse(subject, script);
      await say([text("Look.")]);
      await say([result("main_1_0", "x"), result("main_1_1", "y")]);
      await say([text("Well?")]);
      // Calls are sent with ids of our own, so thinking after a call would no longer follow what it was written after.
      if (!keepsCallIds && !mergesThinking) expect(sent(server, 3)).not.toContain("B.");
      const roles = messagesOf(server.requests[2]!).map(({ role }) => role);
      expect(roles).toEqual(["user", "assistant", "user", "assistant", "user"]);
      server.assertDone();
    });

    it("leaves out thinking after a fork with other tools, in the middle of a turn too", async () => {
      const script: Reply[] = [{ content: [{ thinking: "Hm." }, "Well.", { tool: "LS" }] }, { content: "Done." }];
      const { server, say, chain, caller } = await converse(subject, script);
      await say([text("Look.")]);
      const fork = chain.withHead({ ...chain.head, tools: chain.head.tools.slice(1) });
      fork.append({ role: "user", content: [result("main_1_0", "nothing")] });
      const { outcome } = await caller.call({ prompt: fork.request() });
      expect(outcome.ok).toBe(true);
      expect(messagesOf(server.requests[1]!).map(({ thinking }) => thinking)).toEqual(["", "", ""]);
      server.assertDone();
    });

    it("reads what it has sent before from the cache, and counts that separately", async () => {
      const { server, say } = await converse(subject, [{ content: "One." }, { content: "Two." }]);
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
      const { say } = await converse(subject, [{ content: "I won't", stopReason }]);
      const { outcome } = await say([text("Do it.")]);
      expect(outcome.stopReason).toBe(expected);
      expect(outcome.message.content).toContainEqual(expect.objectContaining({ type: "text", text: "I won't" }));
    });

    it("runs no call that was cut off", async () => {
      const content = ["Writing.", { tool: "LS" }, { tool: "Read", inputJson: ['{"path":"a', ' very long name"}'] }];
      const fault: Fault = { kind: "truncated-tool-json", end: "max-tokens" };
      const { say } = await converse(subject, [{ content, fault }, { content: "Done." }]);
      const { outcome } = await say([text("Look.")]);
      expect(outcome.stopReason).toBe("max_tokens");
      expect(outcome.message.content.filter(({ type }) => type === "tool_call")).toMatchObject([{ name: "LS" }]);
      await say([result("main_1_0", "nothing"), text("Go on.")]);
    });

    (knowsAllEvents ? it.fails : it)("ignores unknown events", async () => {
      const content = [{ thinking: "Hm." }, "Well.", { tool: "LS" }];
      const { server, say } = await converse(subject, [{ content, fault: { kind: "unknown-events" } }]);
      const { outcome } = await say([text("Look.")]);
      expect(outcome.message.content).toContainEqual(expect.objectContaining({ type: "text", text: "Well." }));
      expect(outcome).toMatchObject({ stopReason: "tool_calls", incompleteCalls: 0 });
      server.assertDone();
    });

    it.each<[string, string, string]>([
      ["an invalid request", "invalid_request_error", "bad_request"],
      ["a wrong key", "authentication_error", "auth"],
      ["a conversation that is too long", "context_length_exceeded", "context_overflow"],
    ])("does not repeat a request if the stream reports %s", async (_, errorType, code) => {
      const fault: Fault = { kind: "error-event", errorType, message: "It did not work." };
      const { server, outcome } = await callOnce(subject, [{ content: "Half of it", fault }]);
      expect(outcome).toMatchObject({
        ok: false,
        error: { code, message: expect.stringContaining("It did not work") },
      });
      expect(server.requests).toHaveLength(1);
    });

    it.each<[string, Fault]>([
      ["the provider limits its rate and does not say for how long", { kind: "status", status: 429 }],
      ["the provider limits its rate for a while", { kind: "status", status: 429, retryAfter: { seconds: 2 } }],
      ["the stream reports a limit", { kind: "error-event", errorType: "rate_limit_error", message: "Too fast." }],
      ["the stream reports an overload", { kind: "error-event" }],
      ["the server is overloaded", { kind: "status", status: 503 }],
    ])("repeats a request after a wait if %s", async (_, fault) => {
      const { server, outcome, progress } = await callOnce(subject, [{ reply: { content: "Done." }, faults: [fault] }]);
      expect(outcome).toMatchObject({ ok: true, stopReason: "end_turn" });
      const delays = progress.flatMap((event) => (event.type === "retried" ? event.retry.delayMs : []));
      const least = "retryAfter" in fault ? 2_000 : 1;
      expect(delays).toEqual([expect.toSatisfy((delay: number) => delay >= least)]);
      expect(server.requests).toHaveLength(2);
    });

    it.each<[string, Fault, string]>([
      ["a limit on spending", { kind: "spend-cap" }, "spend_cap"],
      ["a wrong key", { kind: "status", status: 401 }, "auth"],
      ["an invalid request", { kind: "status", status: 400, message: "tools.0: bad" }, "bad_request"],
    ])("reports %s at once", async (_, fault, code) => {
      const { server, outcome } = await callOnce(subject, [{ content: "", fault }]);
      expect(outcome).toMatchObject({ ok: false, error: { code } });
      expect(server.requests).toHaveLength(1);
    });

    it("stops a response that is aborted, and keeps its text so far", async () => {
      const words = Array.from({ length: 50 }, (_, index) => `w${index} `);
      const server = await serve({ script: [{ content: [{ text: words }], pacing: { chunkMs: 2 } }] });
      const chain = new Chain(headOf(subject));
      chain.append({ role: "user", content: [text("Count.")] });
      const controller = new AbortController();
      const calling = subject
        .caller(server.url)
        .call({ prompt: chain.request(), signal: controller.signal }, (event) => {
          if (event.type === "text.delta" && event.text.includes("w3")) controller.abort();
        });
      const { outcome } = await calling;
      expect(outcome).toMatchObject({ ok: false, error: { code: "aborted" } });
      const partial = outcome.ok ? [] : outcome.partial;
      expect(partial.filter(({ type }) => type === "text")).toMatchObject([
        { type: "text", text: expect.stringMatching(/^w0 w1 w2 w3 /) },
      ]);
      await server.requests[0]?.ended;
      expect(server.requests[0]?.aborted).toBe(true);
    });
  });
}
