import { afterEach, describe, expect, it } from "vitest";
import { anthropicHeaders, callAnthropic } from "../client.test-support.ts";
import { createApiServer } from "../create-api-server.ts";
import type { ApiServer, Reply } from "../types.ts";

let server: ApiServer;
afterEach(() => server.close());

type Block = Record<string, unknown>;
type Message = { role: string; content: Block[] };
type Body = { model: string; messages: Message[] } & Record<string, unknown>;
type Answer = { content: Block[]; stop_reason: string; usage: unknown };

const beta = { ...anthropicHeaders, "anthropic-beta": "compact-2026-09-04" };
const summarize = { compaction: { type: "summarize" } };
const said = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });

async function send(body: Body, headers: Record<string, string> = beta): Promise<Answer | string> {
  const answer = await callAnthropic(server.url, body, { headers });
  const json = JSON.parse(answer.bytes.toString());
  return answer.status === 200 ? json : json.error.message;
}

/** Holds a conversation of two turns with thinking. */
async function converse(model = "claude-opus-5-5", summary: Reply = { content: "They counted." }): Promise<Body> {
  const answers: Reply[] = [{ content: [{ thinking: "1" }, "One."] }, { content: [{ thinking: "2" }, "Two."] }];
  const rest = { reply: { content: "Done." }, times: "always" } as const;
  server = await createApiServer({ script: [...answers, summary, rest] });
  const body: Body = { model, max_tokens: 1000, system: "Be brief.", messages: [said("one")] };
  for (const next of ["two", "three"]) {
    const { content } = (await send(body)) as Answer;
    body.messages.push({ role: "assistant", content }, said(next));
  }
  return body;
}

/** Compacts all messages before the one with this index, and returns the conversation that continues. */
async function compacted(body: Body, cut = 3): Promise<Body> {
  const answer = await send({ ...body, messages: body.messages.slice(0, cut), ...summarize });
  const { content } = answer as Answer;
  return { ...body, messages: [{ role: "assistant", content }, ...body.messages.slice(cut)] };
}

describe("a compaction on demand", () => {
  it("returns one signed block, counted as an iteration, and keeps the thinking in the turns that follow", async () => {
    const body = await converse();
    const answer = await send({ ...body, messages: body.messages.slice(0, 3), ...summarize });
    expect(answer).toMatchObject({
      content: [{ type: "compaction", content: "They counted.", signature: expect.any(String) }],
      stop_reason: "compaction",
      usage: { input_tokens: 0, output_tokens: 0, iterations: [{ type: "compaction", output_tokens: 4 }] },
    });
    const next = {
      ...body,
      messages: [{ role: "assistant", content: (answer as Answer).content }, ...body.messages.slice(3)],
    };
    const { content, stop_reason } = (await send(next)) as Answer;
    expect([content[0]?.["type"], stop_reason]).toEqual(["thinking", "end_turn"]);
    next.messages.push({ role: "assistant", content }, said("four"));
    expect(await send(await compacted(next, 3))).toMatchObject({ stop_reason: "end_turn" });
  });

  it.each<[string, (body: Body) => Body]>([
    [
      "a kept turn is missing",
      (body) => ({ ...body, messages: [...body.messages.slice(0, 1), said("x"), ...body.messages.slice(1)] }),
    ],
    [
      "a kept message has changed",
      ({ messages: [block, answer, ...rest], ...body }) => ({
        ...body,
        messages: [
          block,
          { ...answer, content: [{ type: "text", text: "Hm." }, ...(answer?.content ?? [])] },
          ...rest,
        ] as Message[],
      }),
    ],
    ["the system text has changed", (body) => ({ ...body, system: "Be long." })],
    ["there are tools", (body) => ({ ...body, tools: [{ name: "Read", input_schema: { type: "object" } }] })],
  ])("keeps no thinking if %s", async (_, change) => {
    const next = await compacted(await converse());
    expect(await send(change(next))).toContain("bound to a different conversation");
  });

  it("keeps no thinking if it was made with other system text", async () => {
    const body = await converse();
    const next = await compacted({ ...body, system: "Be long." }, 1);
    expect(await send({ ...next, system: "Be brief." })).toContain("bound to a different conversation");
  });

  it.each<[string, (body: Body) => Body, string]>([
    ["messages before the block", (body) => ({ ...body, messages: [said("one"), ...body.messages] }), "misplaced"],
    [
      "two blocks",
      ({ messages, ...body }) => ({
        ...body,
        messages: [
          { role: "assistant", content: [...(messages[0]?.content ?? []), ...(messages[0]?.content ?? [])] },
          ...messages.slice(1),
        ],
      }),
      "misplaced",
    ],
    [
      "a changed summary",
      ({ messages, ...body }) => ({
        ...body,
        messages: [
          { role: "assistant", content: [{ ...messages[0]?.content[0], content: "x" }] },
          ...messages.slice(1),
        ],
      }),
      "signature_invalid",
    ],
    [
      "another field",
      ({ messages, ...body }) => ({
        ...body,
        messages: [
          { role: "assistant", content: [{ ...messages[0]?.content[0], citations: null }] },
          ...messages.slice(1),
        ],
      }),
      "Extra inputs",
    ],
  ])("refuses %s", async (_, change, reason) => {
    expect(await send(change(await compacted(await converse())))).toContain(reason);
  });

  it("needs its beta header, also for the requests with the block", async () => {
    const body = await converse();
    expect(await send({ ...body, ...summarize }, anthropicHeaders)).toContain("requires anthropic-beta: compact");
    expect(await send(await compacted(body), anthropicHeaders)).toContain("does not match any of the expected tags");
  });

  it.each<[string, Partial<Body>, string]>([
    ["a model that has none", { model: "claude-haiku-4-5" }, "not supported"],
    [
      "a schema",
      { output_config: { format: { type: "json_schema", schema: { type: "object", additionalProperties: false } } } },
      "output_config",
    ],
    [
      "an open call",
      {
        messages: [
          said("one"),
          { role: "assistant", content: [{ type: "tool_use", id: "t", name: "Read", input: {} }] },
        ],
      },
      "tool call",
    ],
  ])("refuses %s", async (_, more, reason) => {
    expect(await send({ ...(await converse()), ...summarize, ...more })).toContain(reason);
  });

  it("returns no block if the model writes no summary", async () => {
    const body = await converse("claude-opus-5-5", { content: "They", stopReason: "max_tokens" });
    expect(await send({ ...body, ...summarize })).toMatchObject({ content: [], stop_reason: "max_tokens" });
  });
});
