import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { type Model, openSession, run, type SessionOptions } from "../../src/app/index.ts";
import { createApiServer, messagesOf, type Reply, type Step, type Wire } from "../../src/testing/index.ts";
import { lastWords, newPlace, open } from "./delegation-place.ts";

const invoice = z.object({ total: z.number(), paid: z.string().transform((text) => text === "yes") });
const good = '{"total":12,"paid":"yes"}';

async function ask(answers: readonly string[], options: SessionOptions = {}) {
  const { session, model } = await open({ MAIN: answers.map((text) => ({ text })) }, options);
  const result = await session.prompt("MAIN: read the invoice.", { output: invoice }).result;
  await session.close();
  model.assertDone();
  return { result, requests: model.requests("MAIN") };
}

describe("an answer that must match a schema", () => {
  it("is validated, converted and typed", async () => {
    const { result, requests } = await ask([good]);
    expectTypeOf(result.output).toEqualTypeOf<{ total: number; paid: boolean } | undefined>();
    expect(result).toMatchObject({ outcome: "succeeded", output: { total: 12, paid: true }, turns: 1 });
    expect(lastWords(requests[0])).toMatch(
      /MAIN: read the invoice\..*Your last message must contain only JSON.*"total"/s,
    );
  });

  it.each([
    ["in a code block", `Here it is:\n\`\`\`json\n${good}\n\`\`\`\nBye.`],
    ["between words", `The invoice is ${good}, I think.`],
  ])("is found %s", async (_, text) => {
    expect((await ask([text])).result.output).toEqual({ total: 12, paid: true });
  });

  it("can be corrected twice", async () => {
    const { result, requests } = await ask(["It is 12.", '{"total":"12"}', good]);
    expect(result).toMatchObject({ outcome: "succeeded", output: { total: 12, paid: true }, turns: 3 });
    expect(lastWords(requests[1])).toContain("Your answer can't be used: It is not JSON. Answer again.");
    expect(lastWords(requests[2])).toMatch(/It is not valid: `total`.*`paid`/);
  });

  it("ends the run as failed if it is still invalid, and keeps the text", async () => {
    const { result } = await ask(["It is 12.", "12", "Twelve."]);
    expect(result).toMatchObject({ outcome: "failed", reason: "invalid_output", text: "Twelve.", turns: 3 });
    expect(result.message).toContain("It is not JSON.");
    expect(result).not.toHaveProperty("output");
  });

  it("is not corrected beyond the turn limit", async () => {
    const { result } = await ask(["It is 12."], { maxTurns: 1 });
    expect(result).toMatchObject({ outcome: "failed", reason: "invalid_output", turns: 1 });
  });

  it("is checked again after an acceptance check made the agent change its work", async () => {
    const { result } = await ask([good, "Fixed.", good], { acceptance: ["test -e fixed || { touch fixed; false; }"] });
    expect(result).toMatchObject({ outcome: "succeeded", output: { total: 12 }, acceptance: { ok: true } });
  });

  it("can follow a JSON Schema, for one prompt of a session, even in the queue", async () => {
    const { session, model } = await open({ MAIN: [{ text: "Hi." }, { text: '["a"]' }, { text: "Bye." }] });
    const names = { type: "array", items: { type: "string" } } as const;
    const [first, second, third] = [
      session.prompt("MAIN: hello"),
      session.prompt("Which files?", { output: names }),
      session.prompt("Bye"),
    ];
    expect((await first.result).text).toBe("Hi.");
    const { output } = await second.result;
    expectTypeOf(output).toEqualTypeOf<string[] | undefined>();
    expect(output).toEqual(["a"]);
    expect(await third.result).not.toHaveProperty("output");
    expect(JSON.stringify(model.requests("MAIN")[0])).not.toContain("JSON");
    await session.close();
  });

  it("is checked against every keyword of a JSON Schema", async () => {
    const { session, model } = await open({ MAIN: [{ text: '{"a":{"n":"1"}}' }, { text: '{"a":{"n":1}}' }] });
    const node = { type: "object", properties: { n: { type: "number" } } };
    const output = { type: "object", properties: { a: { $ref: "#/$defs/node" } }, $defs: { node } };
    const result = await session.prompt("MAIN: x", { output }).result;
    expect(result.output).toEqual({ a: { n: 1 } });
    expect(lastWords(model.requests("MAIN")[1])).toContain("`a.n` must be a number, not a string");
    await session.close();
  });

  it("can follow a valibot or arktype schema", async () => {
    const { session } = await open({ MAIN: [good, good, good].map((text) => ({ text })) });
    const shape = v.object({ total: v.number(), paid: v.string() });
    const results = [
      await session.prompt("MAIN: x", { output: toStandardJsonSchema(shape) }).result,
      await session.prompt("MAIN: x", { output: shape, outputSchema: { type: "object" } }).result,
      await session.prompt("MAIN: x", { output: type({ total: "number", paid: "string" }) }).result,
    ];
    expectTypeOf(results[0]!.output).toEqualTypeOf<{ total: number; paid: string } | undefined>();
    for (const { output } of results) expect(output).toEqual({ total: 12, paid: "yes" });
    expect(() => session.prompt("MAIN: x", { output: shape })).toThrow(
      "The output option comes from a library that can't convert it to JSON Schema",
    );
    await session.close();
  });

  it("is refused immediately if its schema is invalid", async () => {
    const { session } = await open({ MAIN: [] });
    expect(() => session.prompt("MAIN: x", { output: "json" as never })).toThrow("output option of session.prompt");
    expect(() => session.prompt("MAIN: x", { ouput: {} } as never)).toThrow('has no option "ouput"');
    expect(() => session.prompt("MAIN: x", { output: z.object({ at: z.date() }) })).toThrow("JSON Schema");
    expect(() => session.prompt("MAIN: x", { output: { type: "strng" } })).toThrow(
      'The output option has an unknown type "strng"',
    );
    expect(() => session.prompt("MAIN: x", { output: { a: z.string() } })).toThrow("object of schemas");
    await session.close();
    await expect(run("x", { output: z as never })).rejects.toThrow("The output option is not a JSON Schema");
    await expect(run("x", { output: { $ref: "https://a.example/b" } })).rejects.toThrow("outside the schema");
  });

  it.each(["anthropic", "openai", "gemini"] as const)(
    "works over the %s wire format without changing the head",
    async (wire) => {
      const replies: Reply[] = [{ content: "Hi." }, { content: good }];
      const server = await createApiServer({ script: replies });
      const environments = {
        anthropic: { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url },
        openai: { OPENAI_API_KEY: "k", OPENAI_BASE_URL: `${server.url}/v1` },
        gemini: { GEMINI_API_KEY: "k", GOOGLE_GEMINI_BASE_URL: server.url },
      };
      const session = await openSession({ ...newPlace(), environment: environments[wire] });
      await session.prompt("Hello").result;
      const { output } = await session.prompt("Read the invoice.", { output: invoice }).result;
      await session.close();
      await server.close();
      expect(output).toEqual({ total: 12, paid: true });
      const [first, second] = server.requests.map(({ rawBody }) => rawBody.toString());
      // Cache marks are not part of the head.
      const headOf = (body = "") =>
        body.slice(0, body.search(/"(messages|contents)":\[/)).replaceAll(',"cache_control":{"type":"ephemeral"}', "");
      expect(headOf(second) === headOf(first)).toBe(true);
      expect(messagesOf(server.requests[1]!).at(-1)?.text).toContain("JSON Schema");
    },
  );
});

describe("the correction of an answer", () => {
  const environmentsOf = (url: string) => ({
    anthropic: { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: url },
    openai: { OPENAI_API_KEY: "k", OPENAI_BASE_URL: `${url}/v1` },
    responses: { OPENAI_API_KEY: "k", OPENAI_BASE_URL: `${url}/v1` },
    gemini: { GEMINI_API_KEY: "k", GOOGLE_GEMINI_BASE_URL: url },
  });
  const schema = {
    type: "object",
    properties: { total: { type: "number" }, paid: { type: "string" } },
    required: ["total", "paid"],
    additionalProperties: false,
  };
  const formats = {
    anthropic: { output_config: { effort: "low", format: { type: "json_schema", schema } } },
    openai: { response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema } } },
    responses: { text: { format: { type: "json_schema", name: "answer", strict: true, schema } } },
    gemini: { responseMimeType: "application/json", responseJsonSchema: schema },
  };
  /** Opens a session whose answers come from a server. Returns the fields of each request that contain a schema. */
  async function serve(wire: Wire, script: readonly Step[], model?: string) {
    const server = await createApiServer({ script: [...script] });
    const environment = environmentsOf(server.url)[wire];
    const session = await openSession({
      ...newPlace(),
      environment,
      settings: wire === "responses" ? { providers: { openai: { dialect: wire } } } : {},
      model,
      effort: model === undefined ? undefined : "low",
    });
    const formatsSent = () =>
      server.requests.map(({ rawBody }) => {
        const { output_config, response_format, text, generationConfig } = JSON.parse(rawBody.toString());
        const { responseMimeType, responseJsonSchema } = generationConfig ?? {};
        const gemini = { responseMimeType, responseJsonSchema };
        return { anthropic: { output_config }, openai: { response_format }, responses: { text }, gemini }[wire];
      });
    return { server, session, formatsSent, close: () => session.close().then(() => server.close()) };
  }

  it.each([
    ["anthropic", "claude-opus-5-5", { output_config: { effort: "low" } }],
    ["openai", undefined, { response_format: undefined }],
    ["responses", undefined, { text: undefined }],
    ["gemini", undefined, { responseMimeType: undefined, responseJsonSchema: undefined }],
  ] as const)("is enforced by the provider over the %s wire format, and only there", async (wire, model, plain) => {
    const script = ["It is 12.", good, "Bye."].map((content): Step => ({ reply: { content } }));
    const { server, session, formatsSent, close } = await serve(wire, script, model);
    const { output } = await session.prompt("Read the invoice.", { output: invoice }).result;
    await session.prompt("Bye").result;
    await close();
    server.assertDone();
    expect(output).toEqual({ total: 12, paid: true });
    expect(formatsSent()).toEqual([plain, formats[wire], plain]);
    // The third request, without a schema, reads what the first one has cached, although the second one had a schema.
    // OpenAI's cache works in steps of 128 tokens.
    const [first, , third] = server.requests.map(({ cache }) => cache);
    expect(third?.read).toBeGreaterThan((first?.prompt ?? 0) - 128);
  });

  it("is sent without a schema to a server that rejects it, and from then on for this model", async () => {
    const refusal = { kind: "status", status: 400, message: "response_format is not supported" } as const;
    const script: Step[] = [
      { reply: { content: "It is 12." } },
      { reply: { content: "It is twelve." }, faults: [refusal] },
      { reply: { content: good } },
    ];
    const { server, session, formatsSent, close } = await serve("openai", script);
    const run = session.prompt("Read the invoice.", { output: invoice });
    const retried: unknown[] = [];
    for await (const update of run) if (update.type === "model.retried") retried.push(update.retry);
    expect((await run.result).output).toEqual({ total: 12, paid: true });
    await close();
    server.assertDone();
    const plain = { response_format: undefined };
    expect(formatsSent()).toEqual([plain, formats.openai, plain, plain]);
    expect(retried).toMatchObject([
      { attempt: 1, delayMs: 0, status: 400, error: expect.stringContaining("not supported") },
    ]);
  });

  it("fails if the server rejects it even without a schema", async () => {
    const refusals = [1, 2].map(() => ({ kind: "status", status: 400 }) as const);
    const script: Step[] = [{ reply: { content: "It is 12." } }, { reply: { content: "" }, faults: refusals }];
    const { server, session, close } = await serve("openai", script);
    const { outcome, reason } = await session.prompt("Read the invoice.", { output: invoice }).result;
    await close();
    expect({ outcome, reason, requests: server.requests.length }).toEqual({
      outcome: "failed",
      reason: "model_error",
      requests: 3,
    });
  });

  it("passes the schema to a program's own model", async () => {
    const { session, model } = await open({ MAIN: [{ text: "It is 12." }, { text: good }] });
    const schemas: unknown[] = [];
    await session.close();
    const listening: Model = {
      describe: () => model.describe(),
      call: (request, emit) => {
        schemas.push(request.answerSchema);
        return model.call(request, emit);
      },
    };
    const own = await openSession({ ...newPlace(), model: listening });
    await own.prompt("MAIN: read the invoice.", { output: invoice }).result;
    await own.close();
    expect(schemas).toEqual([undefined, expect.objectContaining({ required: ["total", "paid"] })]);
  });
});

describe("a prompt", () => {
  it("stops when its signal fires", async () => {
    const { session } = await open({ MAIN: [{ hangs: true }] });
    const stop = new AbortController();
    const run = session.prompt("MAIN: wait", { signal: stop.signal });
    for await (const update of run) if (update.type === "model.requested") stop.abort();
    expect(await run.result).toMatchObject({ outcome: "stopped", reason: "interrupted" });
    const never = session.prompt("MAIN: again", { signal: AbortSignal.abort() });
    expect((await never.result).outcome).toBe("stopped");
    await session.close();
  });

  it("streams its text, with a blank line between messages", async () => {
    const { session } = await open({
      MAIN: [{ text: "Reading.", calls: [{ name: "Read", input: { file_path: "notes.txt" } }] }, { text: "Done." }],
    });
    const texts: string[] = [];
    for await (const text of session.prompt("MAIN: read").textStream) texts.push(text);
    expect(texts).toEqual(["Reading.", "\n\n", "Done."]);
    await session.close();
  });
});
