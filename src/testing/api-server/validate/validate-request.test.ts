import { afterEach, describe, expect, it } from "vitest";
import { anthropicHeaders, callAnthropic, callOpenai } from "../client.test-support.ts";
import { createApiServer } from "../create-api-server.ts";
import type { ApiServer, Reply } from "../types.ts";

let server: ApiServer;
afterEach(() => server.close());

const reply: Reply = { content: "a" };
const problemOf = (received: { status: number; bytes: Buffer }) => {
  const { error } = JSON.parse(received.bytes.toString());
  return `${received.status} ${error.type}: ${error.message}`;
};

describe("requests", () => {
  it("may use either key header in the Anthropic format, with a version", async () => {
    server = await createApiServer({ script: [reply, reply], apiKey: "secret" });
    const call = (headers: Record<string, string>) => callAnthropic(server.url, {}, { headers });
    const version = { "anthropic-version": "2023-06-01" };
    expect((await call({ ...version, "x-api-key": "secret" })).status).toBe(200);
    expect((await call({ ...version, authorization: "Bearer secret" })).status).toBe(200);
    expect(problemOf(await call({ ...version, "x-api-key": "other" }))).toContain("401 authentication_error");
    expect(problemOf(await call(version))).toContain("401 authentication_error");
    expect(problemOf(await call({ "x-api-key": "secret" }))).toContain("400 invalid_request_error: anthropic-version");
    expect(() => server.assertDone()).toThrow("request 5 was refused: anthropic-version");
  });

  it("need a bearer key in the OpenAI format, unless configured otherwise", async () => {
    server = await createApiServer({ script: [reply] });
    expect((await callOpenai(server.url, {}, { headers: {} })).status).toBe(401);
    await server.close();
    server = await createApiServer({ script: [reply], requireKey: false });
    expect((await callOpenai(server.url, {}, { headers: {} })).status).toBe(200);
  });

  it("are accepted only for the listed models", async () => {
    server = await createApiServer({ script: [reply], models: ["known"] });
    expect(problemOf(await callAnthropic(server.url))).toBe("404 not_found_error: model: claude-test");
    expect((await callAnthropic(server.url, { model: "known" })).status).toBe(200);
  });
});

describe("request bodies", () => {
  it("are rejected if they are not JSON in UTF-8", async () => {
    server = await createApiServer({ script: [] });
    const call = (rawBody: string | Buffer) => callAnthropic(server.url, {}, { rawBody });
    expect(problemOf(await call("{"))).toContain("not valid JSON");
    expect(problemOf(await call(Buffer.from([0x22, 0xff, 0x22])))).toContain("not valid UTF-8");
    const lone = '{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"\\ud83d"}]}';
    expect(problemOf(await call(lone))).toContain("lone surrogate");
  });

  it("may contain a surrogate pair written as escapes", async () => {
    server = await createApiServer({ script: [reply] });
    const rawBody = '{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"\\ud83d\\udc4b"}]}';
    expect((await callAnthropic(server.url, {}, { rawBody })).status).toBe(200);
  });

  it("do not use up a step if they are rejected", async () => {
    server = await createApiServer({ script: [reply] });
    expect((await callAnthropic(server.url, { messages: [] })).status).toBe(400);
    expect((await callAnthropic(server.url)).status).toBe(200);
    expect(() => server.assertDone()).toThrow("request 1 was refused: messages: at least one message is required");
  });
});

describe("thinking that is sent back", () => {
  const thoughts = { content: [{ thinking: "I must look." }, { tool: "LS", id: "t1" }] };
  const thinking = { type: "enabled", budget_tokens: 1024 };
  const results = { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "a" }] };

  async function secondTurn(change: (content: Record<string, unknown>[]) => unknown, after: unknown[] = []) {
    server = await createApiServer({ script: [thoughts, reply] });
    const first = [{ role: "user", content: "Go" }];
    const options = { thinking, max_tokens: 5000 };
    const { content } = JSON.parse((await callAnthropic(server.url, { ...options, messages: first })).bytes.toString());
    const messages = [...first, { role: "assistant", content: change(content) }, results, ...after];
    const answer = await callAnthropic(server.url, { ...options, messages }, { headers: anthropicHeaders });
    return answer.status === 200 ? "taken" : problemOf(answer);
  }

  it("is accepted unchanged", async () => {
    expect(await secondTurn((content) => content)).toBe("taken");
    server.assertDone();
  });

  it("is rejected if the text differs", async () => {
    const changed = await secondTurn((content) =>
      content.map((one) => ("thinking" in one ? { ...one, thinking: "Else." } : one)),
    );
    expect(changed).toContain("messages.1.content.0: Invalid `signature` in `thinking` block");
  });

  it("is required while its tool calls are being answered", async () => {
    expect(await secondTurn((content) => content.slice(1))).toContain("messages.1.content.0.type: Expected `thinking`");
  });

  it("may be omitted from a completed turn", async () => {
    const after = [
      { role: "assistant", content: "Done." },
      { role: "user", content: "Next" },
    ];
    expect(await secondTurn((content) => content.slice(1), after)).toBe("taken");
  });
});
