import { afterEach, describe, expect, it } from "vitest";
import { callOpenai, readEvents, readJsonEvents } from "../client.test-support.ts";
import { createApiServer } from "../create-api-server.ts";
import type { ApiServer, Reply, StopReason } from "../types.ts";

let server: ApiServer;
afterEach(() => server.close());

const rich: Reply = {
  content: [
    { thinking: "Hm." },
    "Grüße 👋🏽",
    { tool: "Read", id: "call_a", inputJson: ['{"pa', 'th": "a.ts"}'] },
    { tool: "LS", id: "call_b", input: { path: "." } },
  ],
};

type Choice = { delta: Record<string, unknown>; finish_reason: string | null };
type CallDelta = { index: number; id?: string; function: { name?: string; arguments: string } };

function choicesOf(bytes: Buffer): Choice[] {
  return readJsonEvents(bytes).flatMap((chunk) => chunk["choices"] as Choice[]);
}

describe("the OpenAI wire format", () => {
  it("streams text, reasoning and partial tool arguments by index, and ends with [DONE]", async () => {
    server = await createApiServer({ script: [rich] });
    const { bytes } = await callOpenai(server.url, { stream: true });
    const choices = choicesOf(bytes);
    const joined = (key: string) => choices.map((choice) => choice.delta[key] ?? "").join("");
    expect(joined("content")).toBe("Grüße 👋🏽");
    expect(joined("reasoning_content")).toBe("Hm.");
    const calls: { id?: string; name?: string; arguments: string }[] = [];
    for (const delta of choices.flatMap((choice) => (choice.delta["tool_calls"] ?? []) as CallDelta[])) {
      const call = calls[delta.index] ?? { arguments: "" };
      calls[delta.index] = call;
      if (delta.id !== undefined) call.id = delta.id;
      if (delta.function.name !== undefined) call.name = delta.function.name;
      call.arguments += delta.function.arguments;
    }
    expect(calls).toEqual([
      { id: "call_a", name: "Read", arguments: '{"path": "a.ts"}' },
      { id: "call_b", name: "LS", arguments: '{"path":"."}' },
    ]);
    expect(choices.at(-1)?.finish_reason).toBe("tool_calls");
    expect(readEvents(bytes).at(-1)?.data).toBe("[DONE]");
    server.assertDone();
  });

  it("sends a usage chunk only if requested", async () => {
    server = await createApiServer({ script: [{ content: "a" }, { content: "a" }] });
    const asked = await callOpenai(server.url, { stream: true, stream_options: { include_usage: true } });
    const last = readJsonEvents(asked.bytes).at(-1);
    expect(last).toMatchObject({ choices: [], usage: { prompt_tokens_details: { cached_tokens: 0 } } });
    const usage = last?.["usage"] as Record<string, number>;
    expect(usage["total_tokens"]).toBe((usage["prompt_tokens"] ?? 0) + (usage["completion_tokens"] ?? 0));
    const unasked = await callOpenai(server.url, { stream: true });
    expect(readJsonEvents(unasked.bytes).some((chunk) => "usage" in chunk)).toBe(false);
  });

  it("returns the same message in one piece without streaming", async () => {
    server = await createApiServer({ script: [rich] });
    const answer = JSON.parse((await callOpenai(server.url)).bytes.toString());
    expect(answer.choices).toMatchObject([
      {
        finish_reason: "tool_calls",
        message: {
          role: "assistant",
          content: "Grüße 👋🏽",
          reasoning_content: "Hm.",
          tool_calls: [
            { id: "call_a", type: "function", function: { name: "Read", arguments: '{"path": "a.ts"}' } },
            { id: "call_b", type: "function", function: { name: "LS", arguments: '{"path":"."}' } },
          ],
        },
      },
    ]);
  });

  it("maps stop reasons to its own finish reasons", async () => {
    const reasons: StopReason[] = ["end_turn", "max_tokens", "refusal", "stop_sequence"];
    server = await createApiServer({ script: reasons.map((stopReason) => ({ content: "a", stopReason })) });
    const seen = [];
    for (const _ of reasons)
      seen.push(JSON.parse((await callOpenai(server.url)).bytes.toString()).choices[0].finish_reason);
    expect(seen).toEqual(["stop", "length", "content_filter", "stop"]);
  });
});
