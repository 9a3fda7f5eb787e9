import { expect, it } from "vitest";
import { wireContent } from "./wire-blocks.ts";

it("shows OpenAI's reasoning in the terms of the Messages API", () => {
  const origin = { provider: "openai", model: "m" };
  const reasoning = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gA==" };
  const search = { type: "server_tool_use", id: "s", name: "web_search", input: {} };
  const blocks = [reasoning, search].map((json) => ({ type: "opaque" as const, json: JSON.stringify(json), origin }));
  expect(wireContent([...blocks, { type: "text", text: "Done.", phase: "final_answer" }])).toEqual([
    { type: "redacted_thinking", data: "gA==" },
    search,
    { type: "text", text: "Done." },
  ]);
});
