import { isObject, type JsonObject } from "../json-values.ts";
import { demand, demandKeys, demandList, demandObject, demandText, firstProblem } from "./check.ts";
import type { ThinkingLedger } from "./thinking-ledger.ts";
import { type CheckedMessage, checkAnthropicBlock } from "./validate-anthropic-block.ts";
import { checkCacheMarks } from "./validate-cache-marks.ts";
import { checkThinkingReturned } from "./validate-thinking.ts";
import { checkToolPairs } from "./validate-tool-pairs.ts";

/** What the provider would refuse in this request, in words that name the place; undefined when it would take it. */
export function validateAnthropic(body: unknown, ledger: ThinkingLedger): string | undefined {
  return firstProblem(() => {
    const request = demandObject(body, "body");
    demandKeys(request, "", requestKeys);
    demand(typeof request["model"] === "string" && request["model"] !== "", "model: Field required");
    checkNumbers(request);
    checkTools(request);
    checkSystem(request["system"]);
    const messages = checkMessages(request["messages"], ledger);
    checkThinkingParameters(request);
    checkCacheMarks(request);
    checkToolPairs(messages);
    checkThinkingReturned(messages, { request, ledger });
  });
}

const requestKeys = [
  "model",
  "messages",
  "system",
  "max_tokens",
  "metadata",
  "stop_sequences",
  "stream",
  "temperature",
  "top_p",
  "top_k",
  "tools",
  "tool_choice",
  "thinking",
  "service_tier",
  "container",
  "context_management",
  "mcp_servers",
  "output_config",
  "output_format",
];

function checkNumbers(request: JsonObject): void {
  const { max_tokens: maxTokens, temperature, stream, stop_sequences: stops } = request;
  demand(maxTokens !== undefined, "max_tokens: Field required");
  demand(
    Number.isInteger(maxTokens) && (maxTokens as number) >= 1,
    "max_tokens: Input should be an integer of 1 or more",
  );
  const isTemperature = typeof temperature === "number" && temperature >= 0 && temperature <= 1;
  demand(temperature === undefined || isTemperature, "temperature: range: 0..1");
  demand(stream === undefined || typeof stream === "boolean", "stream: Input should be a valid boolean");
  if (stops !== undefined) for (const stop of demandList(stops, "stop_sequences")) demandText(stop, "stop_sequences");
}

function checkTools(request: JsonObject): void {
  const names = new Set<string>();
  const tools = request["tools"] === undefined ? [] : demandList(request["tools"], "tools");
  for (const [index, entry] of tools.entries()) {
    const where = `tools.${index}`;
    const tool = demandObject(entry, where);
    const name = demandText(tool["name"], `${where}.name`);
    demand(/^[a-zA-Z0-9_-]{1,128}$/.test(name), `${where}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    demand(!names.has(name), `tools: Tool names must be unique, "${name}" is there twice`);
    names.add(name);
    // A provider's own tool has a dated type and no schema.
    if (tool["type"] !== undefined && tool["type"] !== "custom") continue;
    demandKeys(tool, where, [
      "type",
      "name",
      "description",
      "input_schema",
      "cache_control",
      "strict",
      "defer_loading",
    ]);
    const schema = demandObject(tool["input_schema"], `${where}.input_schema`);
    demand(schema["type"] === "object", `${where}.input_schema.type: Input should be 'object'`);
  }
  checkToolChoice(request, names);
}

function checkToolChoice(request: JsonObject, names: ReadonlySet<string>): void {
  if (request["tool_choice"] === undefined) return;
  const choice = demandObject(request["tool_choice"], "tool_choice");
  const type = choice["type"];
  demand(["auto", "any", "tool", "none"].includes(String(type)), "tool_choice.type: should be auto, any, tool or none");
  demand(names.size > 0, "tool_choice: may only be specified while providing tools");
  demand(type !== "tool" || names.has(String(choice["name"])), `tool_choice.name: Tool '${choice["name"]}' not found`);
}

function checkSystem(system: unknown): void {
  if (system === undefined || typeof system === "string") return;
  for (const [index, entry] of demandList(system, "system").entries()) {
    const block = demandObject(entry, `system.${index}`);
    demand(block["type"] === "text", `system.${index}.type: Input should be 'text'`);
    checkAnthropicBlock(block, { where: `system.${index}`, role: "user" });
  }
}

function checkMessages(value: unknown, ledger: ThinkingLedger): readonly CheckedMessage[] {
  demand(value !== undefined, "messages: Field required");
  const messages = demandList(value, "messages").map((entry, index): CheckedMessage => {
    const where = `messages.${index}`;
    const message = demandObject(entry, where);
    demandKeys(message, where, ["role", "content"]);
    const role = message["role"];
    demand(role === "user" || role === "assistant", `${where}.role: Input should be 'user' or 'assistant'`);
    return { index, role, blocks: checkContent(message["content"], { where, role, ledger }) };
  });
  const [first] = messages;
  const last = messages.at(-1);
  demand(first !== undefined && last !== undefined, "messages: at least one message is required");
  demand(first.role === "user", 'messages: first message must use the "user" role');
  const endsWithCall = last.blocks.some((block) => block["type"] === "tool_use");
  demand(
    last.role === "user" || endsWithCall,
    "messages: this model does not support assistant message prefill; the conversation must end with a user message",
  );
  return messages;
}

type ContentPlace = { where: string; role: "user" | "assistant"; ledger: ThinkingLedger };

function checkContent(content: unknown, { where, role, ledger }: ContentPlace): readonly JsonObject[] {
  demand(content !== undefined, `${where}.content: Field required`);
  const blocks =
    typeof content === "string" ? [{ type: "text", text: content }] : demandList(content, `${where}.content`);
  demand(blocks.length > 0 && content !== "", `${where}: all messages must have non-empty content`);
  return blocks.map((entry, index) => {
    const block = demandObject(entry, `${where}.content.${index}`);
    checkAnthropicBlock(block, { where: `${where}.content.${index}`, role, ledger });
    return block;
  });
}

function checkThinkingParameters(request: JsonObject): void {
  const thinking = request["thinking"];
  if (thinking === undefined) return;
  const { type, budget_tokens: budget } = demandObject(thinking, "thinking");
  demand(
    ["enabled", "disabled", "adaptive"].includes(String(type)),
    "thinking.type: should be enabled, disabled or adaptive",
  );
  if (type === "disabled") return;
  const forced = isObject(request["tool_choice"]) && ["any", "tool"].includes(String(request["tool_choice"]["type"]));
  demand(!forced, "thinking: Thinking may not be enabled when tool_choice forces tool use");
  demand(
    [undefined, 1].includes(request["temperature"] as number),
    "temperature: may only be 1 when thinking is enabled",
  );
  if (type !== "enabled") return;
  demand(Number.isInteger(budget) && (budget as number) >= 1024, "thinking.budget_tokens: should be 1024 or more");
  demand(
    (budget as number) < (request["max_tokens"] as number),
    "max_tokens: must be greater than thinking.budget_tokens",
  );
}
