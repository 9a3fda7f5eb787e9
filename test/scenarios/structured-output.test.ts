import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { openSession, run, type SessionOptions } from "../../src/app/index.ts";
import { createApiServer, messagesOf, type Reply } from "../../src/testing/index.ts";
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
      /MAIN: read the invoice\..*\[Your last message must contain only JSON.*"total"/s,
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
    expect(lastWords(requests[1])).toContain("[Your answer can't be used: It is not JSON. Answer again.");
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
    expect(() => session.prompt("MAIN: x", { ouput: {} } as never)).toThrow("has no option ouput");
    expect(() => session.prompt("MAIN: x", { output: z.object({ at: z.date() }) })).toThrow("JSON Schema");
    expect(() => session.prompt("MAIN: x", { output: { type: "strng" } })).toThrow(
      'The output option has an unknown type "strng"',
    );
    expect(() => session.prompt("MAIN: x", { output: { a: z.string() } })).toThrow("object of schemas");
    await session.close();
    await expect(run("x", { output: z as never })).rejects.toThrow("The output option is not a JSON Schema");
    await expect(run("x", { output: { $ref: "https://a.example/b" } })).rejects.toThrow("outside the schema");
  });

  it.each(["anthropic", "openai"] as const)("works over the %s wire format without changing the head", async (wire) => {
    const replies: Reply[] = [{ content: "Hi." }, { content: good }];
    const server = await createApiServer({ script: replies });
    const environments = {
      anthropic: { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url },
      openai: { OPENAI_API_KEY: "k", OPENAI_BASE_URL: `${server.url}/v1` },
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
      body.slice(0, body.indexOf('"messages":[')).replaceAll(',"cache_control":{"type":"ephemeral"}', "");
    expect(headOf(second) === headOf(first)).toBe(true);
    expect(messagesOf(server.requests[1]!).at(-1)?.text).toContain("JSON Schema");
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
