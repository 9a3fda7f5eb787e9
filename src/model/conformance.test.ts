import { describe, expect, it } from "vitest";
import { Chain } from "../conversation/index.ts";
import { type Dialect, dialects } from "../protocol/index.ts";
import { type Fault, messagesOf, type Reply } from "../testing/index.ts";
import {
  type ConformanceSubject,
  converse,
  describeConformance,
  headOf,
  image,
  result,
  sent,
  text,
} from "./conformance.test-support.ts";
import { callerFor, serve } from "./wire.test-support.ts";

// Single responses, faults, aborts and split streams are tested in wire-model, faults, abort and stream-split.

const models: Record<Dialect, string> = {
  anthropic: "claude-opus-5-5",
  openai: "gpt-5.1",
  responses: "gpt-6.2-sol",
  gemini: "gemini-4-argon",
};

const subjectOf = (dialect: Dialect): ConformanceSubject => ({
  name: `the ${dialect} dialect`,
  head: { provider: dialect, model: models[dialect], dialect, thinking: "adaptive" },
  caller: (url) => callerFor(url, dialect, { model: models[dialect] }),
  returnsThinking: dialect !== "openai",
});

describe.each(dialects)("%s", (dialect) => {
  const subject = subjectOf(dialect);
  describeConformance(subject);

  it("can continue a conversation that began in another dialect, without its thinking", async () => {
    const script: Reply[] = [{ content: [{ thinking: "Hm." }, "So.", { tool: "LS" }] }, { content: "Done." }];
    for (const other of dialects.filter((each) => each !== dialect)) {
      const { chain, say } = await converse(subjectOf(other), script);
      await say([text("Look."), image]);
      const results = [result("main_1_0", "nothing"), text("Well?")];
      const server = await serve({ script: [{ content: "Done." }] });
      const next = chain.withHead(headOf(subject));
      next.append({ role: "user", content: results });
      expect((await subject.caller(server.url).call({ prompt: next.request() })).outcome).toMatchObject({ ok: true });
      expect(messagesOf(server.requests[0]!).map((each) => [each.role, each.text, each.thinking])).toEqual([
        ["user", "Look.", ""],
        ["assistant", "So.", ""],
        ...(dialect === "openai" ? [["user", "", ""]] : []),
        ["user", "Well?", ""],
      ]);
      server.assertDone();
    }
  });

  it.each<[Dialect, string, string]>([
    ["responses", "Your organization must be verified to generate reasoning summaries.", '"summary"'],
    ["anthropic", "thinking.display: Extra inputs are not permitted", '"display":"summarized"'],
    ["gemini", "Thinking is not enabled for models/gemini-4-argon.", '"includeThoughts"'],
  ])("asks for no more summaries of its thinking once they were refused as in %s", async (own, message, field) => {
    const fault: Fault = { kind: "status", status: 400, message };
    const server = await serve({ script: [{ reply: { content: "Yes." }, faults: [fault], times: "always" }] });
    const prompt = new Chain(headOf(subject));
    prompt.append({ role: "user", content: [text("Well?")] });
    const caller = subject.caller(server.url);
    const calls = [await caller.call({ prompt: prompt.request() }), await caller.call({ prompt: prompt.request() })];
    const asked = server.requests.map(({ rawBody }) => rawBody.includes(field));
    expect(asked).toEqual(dialect === own ? [true, false, false] : [false, false]);
    expect(calls.map(({ outcome }) => outcome.ok)).toEqual([dialect === own, true]);
  });

  it("can ask for an answer that matches a schema", async () => {
    const { server, say } = await converse(subject, [{ content: '{"n":1}' }]);
    const kind = { const: "number" };
    const properties = { n: { type: "number", minimum: 1 }, const: kind };
    await say([text("How many?")], { type: "object", properties, required: ["n"] });
    expect(sent(server, 1)).toMatch(/"(response_format|output_config|text|responseJsonSchema)":\{/);
    server.assertDone();
  });
});
