import OpenAI from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { createApiServer } from "../create-api-server.ts";
import type { ApiServerOptions } from "../types.ts";

type InputItem = OpenAI.Responses.ResponseInputItem;

async function serve(options: ApiServerOptions) {
  const server = await createApiServer(options);
  onTestFinished(() => server.close());
  const client = new OpenAI({ apiKey: "key", baseURL: `${server.url}/v1`, maxRetries: 0 });
  return { server, client };
}

const tools = ["Read", "LS"].map((name) => ({
  type: "function" as const,
  name,
  description: name,
  parameters: { type: "object", properties: { path: { type: "string" } } },
  strict: false,
}));
const prompt: InputItem = { role: "user", content: "Look around." };
const request = {
  model: "gpt-6.2-sol",
  instructions: "Be brief.",
  input: [prompt],
  store: false,
  include: ["reasoning.encrypted_content"],
  reasoning: { effort: "high", summary: "auto" },
  max_output_tokens: 1_000,
  tools,
} satisfies OpenAI.Responses.ResponseCreateParams;
const reply = {
  content: [
    { thinking: ["Let me", " look."] },
    { text: ["I'll", " look."] },
    { tool: "Read", inputJson: ['{"path":', '"a"}'] },
    { tool: "LS", input: {} },
  ],
};

/** Leaves out what differs from request to request, and what the client adds to a streamed response. */
function withoutIds(items: OpenAI.Responses.ResponseOutputItem[]): unknown {
  const omitted = ["id", "call_id", "encrypted_content", "parsed", "parsed_arguments"];
  return JSON.parse(JSON.stringify(items, (key, value) => (omitted.includes(key) ? undefined : value)));
}

describe("OpenAI's own client", () => {
  it("reads a streamed response event by event, with the same end result as a whole response", async () => {
    const { server, client } = await serve({ script: [reply, reply] });
    const stream = client.responses.stream(request);
    const texts: string[] = [];
    const reasoning: string[] = [];
    const inputs: string[] = [];
    const types = new Set<string>();
    const numbers: number[] = [];
    for await (const event of stream) {
      types.add(event.type);
      numbers.push(event.sequence_number);
      if (event.type === "response.output_text.delta") texts.push(event.delta);
      if (event.type === "response.reasoning_summary_text.delta") reasoning.push(event.delta);
      if (event.type === "response.function_call_arguments.delta") inputs.push(event.delta);
    }
    expect({ texts, reasoning, inputs }).toEqual({
      texts: ["I'll", " look."],
      reasoning: ["Let me", " look."],
      inputs: ['{"path":', '"a"}', "{}"],
    });
    expect(numbers).toEqual(numbers.map((_, index) => index));
    expect(types).toContain("response.completed");
    const streamed = await stream.finalResponse();
    const { output, output_text, status, usage } = await client.responses.create(request);
    expect(output.map(({ type }) => type)).toEqual(["reasoning", "message", "function_call", "function_call"]);
    expect(output[1]).toMatchObject({ phase: "commentary" });
    expect({ output_text, status }).toEqual({ output_text: "I'll look.", status: "completed" });
    expect(usage?.input_tokens).toBeGreaterThan(0);
    expect(withoutIds(streamed.output)).toEqual(withoutIds(output));
    server.assertDone();
  });

  it("can send all output items back", async () => {
    const { server, client } = await serve({ script: [reply, { content: "Done." }] });
    const first = await client.responses.create(request);
    const results = first.output.flatMap((item) =>
      item.type === "function_call"
        ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "nothing" }]
        : [],
    );
    const input = [prompt, ...(first.output as InputItem[]), ...results];
    const second = await client.responses.create({ ...request, input });
    expect(second.output_text).toBe("Done.");
    expect(second.output.map((item) => "phase" in item && item.phase)).toEqual([false, "final_answer"]);
    server.assertDone();
  });

  it("understands refusals, responses that are cut off, and errors", async () => {
    const { client } = await serve({
      script: [
        { content: "I can't do that.", stopReason: "refusal" },
        { content: "And then", stopReason: "max_tokens" },
        { content: "Half of it", fault: { kind: "error-event", errorType: "server_error", message: "It broke." } },
        { content: "", fault: { kind: "status", status: 429, message: "Slow down." } },
      ],
    });
    const { reasoning: _, include: __, ...plain } = { ...request, model: "test-model" };
    const refused = await client.responses.create(plain);
    expect(refused.output[0]).toMatchObject({ content: [{ type: "refusal", refusal: "I can't do that." }] });
    const cut = await client.responses.stream(plain).finalResponse();
    expect(cut).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
    const seen: unknown[] = [];
    for await (const event of await client.responses.create({ ...plain, stream: true })) seen.push(event);
    expect(seen.at(-1)).toMatchObject({ type: "error", code: "server_error", message: "It broke." });
    await expect(client.responses.create(plain)).rejects.toBeInstanceOf(OpenAI.RateLimitError);
  });

  it("reads a chat completion", async () => {
    const { client } = await serve({ script: [{ content: "Hello." }] });
    const stream = client.chat.completions.stream({ model: "m", messages: [{ role: "user", content: "Hi" }] });
    expect(await stream.finalContent()).toBe("Hello.");
  });
});
