import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it, onTestFinished } from "vitest";
import { createApiServer } from "../create-api-server.ts";
import type { ApiServerOptions } from "../types.ts";

async function serve(options: ApiServerOptions) {
  const server = await createApiServer(options);
  onTestFinished(() => server.close());
  const client = new Anthropic({ apiKey: "key", baseURL: server.url, maxRetries: 0 });
  return { server, client };
}

const prompt: Anthropic.MessageParam = { role: "user", content: "Look around." };
const request = {
  model: "claude-opus-5-5",
  max_tokens: 1_000,
  system: "Be brief.",
  thinking: { type: "adaptive" as const, display: "summarized" as const },
  messages: [prompt],
  tools: ["Read", "LS"].map((name) => ({ name, description: name, input_schema: { type: "object" as const } })),
};
const reply = {
  content: [
    { thinking: ["Let me", " look."] },
    { text: ["I'll", " look."] },
    { tool: "Read", inputJson: ['{"path":', '"a"}'] },
    { tool: "LS", input: {} },
  ],
};

describe("Anthropic's own client", () => {
  it("reads a streamed response event by event, with the same end result as a whole response", async () => {
    const { server, client } = await serve({ script: [reply, reply] });
    const stream = client.messages.stream(request);
    const texts: string[] = [];
    const thoughts: string[] = [];
    const inputs: string[] = [];
    stream.on("text", (delta) => texts.push(delta));
    stream.on("thinking", (delta) => thoughts.push(delta));
    stream.on("inputJson", (delta) => delta !== "" && inputs.push(delta));
    const streamed = await stream.finalMessage();
    expect({ texts, thoughts, inputs }).toEqual({
      texts: ["I'll", " look."],
      thoughts: ["Let me", " look."],
      inputs: ['{"path":', '"a"}', "{}"],
    });
    const whole = await client.messages.create(request);
    expect(whole.content.map(({ type }) => type)).toEqual(["thinking", "text", "tool_use", "tool_use"]);
    expect(whole.stop_reason).toBe("tool_use");
    const contents = [streamed, whole].map(({ content }) =>
      JSON.parse(JSON.stringify(content, (key, value) => (key === "id" || key === "signature" ? undefined : value))),
    );
    expect(contents[0]).toEqual(contents[1]);
    expect(whole.usage.output_tokens).toBe(streamed.usage.output_tokens);
    server.assertDone();
  });

  it("can continue a conversation with everything that it received, and reads it from the cache", async () => {
    const { server, client } = await serve({ script: [reply, { content: "Done." }] });
    const system = [
      { type: "text" as const, text: "Be brief. ".repeat(400), cache_control: { type: "ephemeral" as const } },
    ];
    const first = await client.messages.create({ ...request, system });
    const results = first.content.flatMap((block) =>
      block.type === "tool_use" ? [{ type: "tool_result" as const, tool_use_id: block.id, content: "nothing" }] : [],
    );
    const answer = { role: "assistant" as const, content: first.content as Anthropic.ContentBlockParam[] };
    const messages = [prompt, answer, { role: "user" as const, content: results }];
    const second = await client.messages.create({ ...request, system, messages });
    expect(second.content.at(-1)).toMatchObject({ type: "text", text: "Done." });
    expect(second.usage.cache_read_input_tokens).toBeGreaterThan(900);
    server.assertDone();
  });

  it("understands refusals, responses that are cut off, and errors", async () => {
    const { client } = await serve({
      script: [
        { content: "I can't do that.", stopReason: "refusal" },
        { content: "And then", stopReason: "max_tokens" },
        { content: "Half of it", fault: { kind: "error-event", errorType: "overloaded_error", message: "Too busy." } },
        { content: "", fault: { kind: "status", status: 429, message: "Slow down." } },
      ],
    });
    expect((await client.messages.create(request)).stop_reason).toBe("refusal");
    expect((await client.messages.stream(request).finalMessage()).stop_reason).toBe("max_tokens");
    const broken = client.messages.stream(request).finalMessage();
    await expect(broken).rejects.toThrow(/Too busy/);
    await expect(client.messages.create(request)).rejects.toBeInstanceOf(Anthropic.RateLimitError);
  });
});
