import { afterEach, describe, expect, it } from "vitest";
import { callAnthropic, readEvents, readJsonEvents, send } from "../client.test-support.ts";
import { createApiServer } from "../create-api-server.ts";
import type { ApiServer, Reply } from "../types.ts";

let server: ApiServer;
afterEach(() => server.close());

const rich: Reply = {
  content: [
    { thinking: ["Let me ", "see."], signature: "signed" },
    { redactedThinking: "opaque" },
    "Grüße 👋🏽, I read it.",
    { tool: "Read", id: "toolu_a", inputJson: '{"path": "a.ts",  "limit": 1.0}' },
    { tool: "LS", input: { path: "." } },
  ],
};

type Block = Record<string, unknown> & { json?: string };

function assemble(events: readonly Record<string, unknown>[]): Block[] {
  const blocks: Block[] = [];
  for (const event of events) {
    const index = event["index"] as number;
    if (event["type"] === "content_block_start") blocks[index] = { ...(event["content_block"] as Block) };
    if (event["type"] !== "content_block_delta") continue;
    const delta = event["delta"] as Record<string, string>;
    const block = blocks[index] as Record<string, string>;
    if (delta["type"] === "text_delta") block["text"] += delta["text"] ?? "";
    if (delta["type"] === "thinking_delta") block["thinking"] += delta["thinking"] ?? "";
    if (delta["type"] === "signature_delta") block["signature"] = delta["signature"] ?? "";
    if (delta["type"] === "input_json_delta") block["json"] = (block["json"] ?? "") + (delta["partial_json"] ?? "");
  }
  return blocks;
}

describe("the Anthropic wire format", () => {
  it("streams every kind of block so that a reader can reassemble it", async () => {
    server = await createApiServer({ script: [rich] });
    const received = await callAnthropic(server.url, { stream: true });
    expect(received.headers["content-type"]).toContain("text/event-stream");
    const blocks = assemble(readJsonEvents(received.bytes));
    expect(blocks).toMatchObject([
      { type: "thinking", thinking: "Let me see.", signature: "signed" },
      { type: "redacted_thinking", data: "opaque" },
      { type: "text", text: "Grüße 👋🏽, I read it." },
      { type: "tool_use", id: "toolu_a", name: "Read", json: '{"path": "a.ts",  "limit": 1.0}' },
      { type: "tool_use", name: "LS", json: '{"path":"."}' },
    ]);
    expect(blocks[4]?.["id"]).toMatch(/^toolu_[a-zA-Z0-9]+$/);
    server.assertDone();
  });

  it("sends events in the provider's order, each with its name", async () => {
    server = await createApiServer({ script: [{ content: "Hi" }] });
    const events = readEvents((await callAnthropic(server.url, { stream: true })).bytes);
    expect(events.map((event) => event.event)).toEqual([
      "message_start",
      "content_block_start",
      "ping",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
    for (const { event, data } of events) expect(JSON.parse(data).type).toBe(event);
    expect(JSON.parse(events[5]?.data ?? "")).toMatchObject({ delta: { stop_reason: "end_turn" } });
  });

  it("returns the same message in one piece without streaming, with verbatim tool input", async () => {
    server = await createApiServer({ script: [rich] });
    const text = (await callAnthropic(server.url)).bytes.toString();
    expect(text).toContain('"input":{"path": "a.ts",  "limit": 1.0}');
    expect(JSON.parse(text)).toMatchObject({
      type: "message",
      role: "assistant",
      model: "claude-test",
      stop_reason: "tool_use",
      content: [
        { type: "thinking", thinking: "Let me see.", signature: "signed" },
        { type: "redacted_thinking", data: "opaque" },
        { type: "text", text: "Grüße 👋🏽, I read it." },
        { type: "tool_use", id: "toolu_a", name: "Read", input: { path: "a.ts", limit: 1 } },
        { type: "tool_use", name: "LS", input: { path: "." } },
      ],
    });
  });

  it("keeps scripted pieces and otherwise never splits a character", async () => {
    const script = [{ content: [{ text: ["a", "bc"] }] }, { content: "👋👋👋", pacing: { chunkCharacters: 3 } }];
    server = await createApiServer({ script });
    const deltas = async () =>
      readJsonEvents((await callAnthropic(server.url, { stream: true })).bytes)
        .filter((event) => event["type"] === "content_block_delta")
        .map((event) => (event["delta"] as { text: string }).text);
    expect(await deltas()).toEqual(["a", "bc"]);
    expect(await deltas()).toEqual(["👋👋", "👋"]);
  });

  it("gives identical requests different tool call ids, and another server the same ones", async () => {
    const script = { content: [{ tool: "LS" }] };
    const idsOf = async () => {
      const answers = [await callAnthropic(server.url), await callAnthropic(server.url)];
      return answers.map((answer) => JSON.parse(answer.bytes.toString()).content[0].id);
    };
    server = await createApiServer({ script: [script, script] });
    const first = await idsOf();
    await server.close();
    server = await createApiServer({ script: [script, script] });
    expect(new Set(first).size).toBe(2);
    expect(await idsOf()).toEqual(first);
  });

  it("lists its models and rejects other paths", async () => {
    server = await createApiServer({ script: [], models: ["one", "two"] });
    const models = await send(server.url, { path: "/v1/models", method: "GET" });
    expect(JSON.parse(models.bytes.toString()).data.map((model: { id: string }) => model.id)).toEqual(["one", "two"]);
    expect((await send(server.url, { path: "/v2/messages", body: {} })).status).toBe(404);
    expect(() => server.assertDone()).toThrow("/v2/messages");
  });
});
