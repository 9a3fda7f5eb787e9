import { asList, asObject, asText, isObject, type JsonObject } from "../json-values.ts";
import { checkAnswerSchema } from "./answer-schema.ts";
import { demand, demandKeys, demandList, demandObject, demandText, firstProblem } from "./check.ts";
import { inputItems, isOutput, isReasoningModel, readReasoning, thinkingOf } from "./reasoning.ts";
import type { ThinkingLedger } from "./thinking.ts";

/**
 * Returns why OpenAI would reject a request to its Responses API; undefined if it would accept the request. Responses
 * are never stored. Reasoning that the provider would ignore because something before it has changed is rejected too.
 */
export function validateResponses(body: unknown, ledger: ThinkingLedger): string | undefined {
  return firstProblem(() => {
    const request = demandObject(body, "body");
    const unknown = Object.keys(request).find((key) => !requestKeys.has(key));
    demand(unknown === undefined, `Unknown parameter: '${unknown}'.`);
    demand(asText(request["model"]) !== "", "Missing required parameter: 'model'.");
    demand(request["store"] === false, "store: this server stores nothing, so 'store' must be false");
    checkReasoning(request);
    const most = request["max_output_tokens"] ?? 16;
    demand(
      Number.isInteger(most) && (most as number) >= 16,
      `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${most} instead.`,
    );
    const key = request["prompt_cache_key"] ?? "";
    demand(demandText(key, "prompt_cache_key").length <= 64, "Invalid 'prompt_cache_key': string too long.");
    for (const [index, tool] of demandList(request["tools"] ?? [], "tools").entries()) checkTool(tool, index);
    checkFormat(asObject(request["text"])["format"]);
    demand(request["input"] !== undefined && request["input"] !== "", "Missing required parameter: 'input'.");
    const items = inputItems(request);
    for (const [index, item] of items.entries()) checkItem(item, `input[${index}]`);
    checkOrder(items);
    for (const item of items) if (item["type"] === "reasoning") checkGenuine(item, ledger);
    const { refused } = readReasoning(request, ledger);
    demand(
      refused === undefined,
      `The encrypted content for item ${refused?.item["id"]} could not be verified. ` +
        `What differs from when it was written: ${refused?.changed}.`,
    );
  });
}

const requestKeys = new Set([
  ...["model", "input", "instructions", "stream", "stream_options", "store", "include", "tools", "tool_choice"],
  ...["parallel_tool_calls", "max_output_tokens", "max_tool_calls", "temperature", "top_p", "top_logprobs", "metadata"],
  ...["reasoning", "text", "truncation", "user", "service_tier", "safety_identifier", "background"],
  ...["prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "context_management"],
]);

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;
const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

function checkReasoning(request: JsonObject): void {
  const model = asText(request["model"]);
  const isKnown = /^(gpt|o\d)/.test(model);
  const asksForContent = asList(request["include"]).includes("reasoning.encrypted_content");
  const { effort, ...rest } = demandObject(request["reasoning"] ?? {}, "reasoning");
  demandKeys(rest, "reasoning", ["summary", "context", "mode"]);
  if (isKnown && !isReasoningModel(model)) {
    demand(!asksForContent, "Encrypted content is not supported with this model.");
    demand(request["reasoning"] === undefined, "Unsupported parameter: 'reasoning' is not supported with this model.");
  }
  demand(effort === undefined || efforts.includes(String(effort)), `Invalid value: '${effort}' for reasoning.effort.`);
  const always = /^gpt-(6-astra|6\.1-sol|6\.2)/.test(model);
  demand(!(always && effort === "none"), `Unsupported value: 'none' is not supported with the '${model}' model.`);
}

function checkTool(entry: unknown, index: number): void {
  const where = `tools[${index}]`;
  const tool = demandObject(entry, where);
  demand(tool["type"] === "function", `${where}.type: should be 'function'`);
  demandKeys(tool, where, ["type", "name", "description", "parameters", "strict"]);
  demand(namePattern.test(String(tool["name"])), `${where}.name: does not match ${namePattern.source}`);
  const parameters = demandObject(tool["parameters"] ?? {}, `${where}.parameters`);
  // The provider makes the schemas of tools strict unless a request says otherwise.
  if (tool["strict"] !== false) {
    checkAnswerSchema(parameters, { where: `${where}.parameters`, everythingRequired: true });
  }
}

function checkFormat(value: unknown): void {
  const format = demandObject(value ?? { type: "text" }, "text.format");
  const types = ["text", "json_object", "json_schema"];
  demand(types.includes(String(format["type"])), `text.format.type: should be one of ${types.join(", ")}`);
  if (format["type"] !== "json_schema") return;
  demandKeys(format, "text.format", ["type", "name", "description", "schema", "strict"]);
  demand(namePattern.test(String(format["name"])), `text.format.name: does not match ${namePattern.source}`);
  if (format["strict"] !== true) return;
  const { schema } = format;
  demand(isObject(schema) && schema["type"] === "object", "text.format.schema: must be an object");
  checkAnswerSchema(schema, { where: "text.format.schema", everythingRequired: true });
}

function checkItem(item: JsonObject, where: string): void {
  const { type = "message" } = item;
  demand(Object.hasOwn(itemChecks, String(type)), `${where}.type: Invalid value: '${type}'.`);
  itemChecks[type as keyof typeof itemChecks](item, where);
}

const itemChecks = {
  message: checkMessage,
  function_call(item: JsonObject, where: string): void {
    demandKeys(item, where, ["type", "id", "call_id", "name", "arguments", "status"]);
    demand(namePattern.test(String(item["name"])), `${where}.name: does not match ${namePattern.source}`);
    demandText(item["arguments"], `${where}.arguments`);
    checkCallId(item, where);
  },
  function_call_output(item: JsonObject, where: string): void {
    demandKeys(item, where, ["type", "id", "call_id", "output", "status"]);
    checkCallId(item, where);
    checkContent(item["output"], { where: `${where}.output`, types: inputTypes });
  },
  reasoning(item: JsonObject, where: string): void {
    demandKeys(item, where, ["type", "id", "summary", "content", "encrypted_content", "status"]);
    demandList(item["summary"], `${where}.summary`);
    const isWhole = typeof item["encrypted_content"] === "string";
    demand(isWhole, `Item with id '${item["id"]}' not found. Items are not persisted when 'store' is set to false.`);
  },
};

function checkCallId(item: JsonObject, where: string): void {
  const id = demandText(item["call_id"], `${where}.call_id`);
  demand(id.length >= 1 && id.length <= 64, `Invalid '${where}.call_id': string too long.`);
}

const inputTypes = ["input_text", "input_image", "input_file"];

function checkMessage(item: JsonObject, where: string): void {
  const { role, content } = item;
  const roles = ["user", "assistant", "system", "developer"];
  demand(roles.includes(String(role)), `${where}.role: '${role}' is not one of ${roles.join(", ")}`);
  demandKeys(item, where, ["type", "id", "role", "content", "status", "phase"]);
  const types = role === "assistant" ? ["output_text", "refusal"] : inputTypes;
  checkContent(content, { where: `${where}.content`, types });
}

function checkContent(content: unknown, { where, types }: { where: string; types: readonly string[] }): void {
  if (typeof content === "string") return;
  const parts = demandList(content, where);
  demand(parts.length > 0, `${where}: [] is too short`);
  for (const [index, entry] of parts.entries()) {
    const part = demandObject(entry, `${where}[${index}]`);
    const { type } = part;
    demand(
      types.includes(String(type)),
      `Invalid value: '${type}'. Supported values are: ${types.join(", ")}. (${where})`,
    );
    if (type === "input_text" || type === "output_text") demandText(part["text"], `${where}[${index}].text`);
    if (type === "input_image") demandText(part["image_url"], `${where}[${index}].image_url`);
  }
}

/** Checks that every call has an output and that reasoning precedes what it was written for. */
function checkOrder(items: readonly JsonObject[]): void {
  const open = new Set<string>();
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const { type } = item;
    const id = asText(item["call_id"]);
    if (type === "function_call") {
      demand(!seen.has(id), `Duplicate item with call_id ${id}.`);
      seen.add(id);
      open.add(id);
    } else if (type === "function_call_output") {
      demand(open.delete(id), `No tool call found for function call output with call_id ${id}.`);
    } else if (!isOutput(item)) {
      demand(open.size === 0, `No tool output found for function call ${[...open][0]}.`);
    }
    const next = items[index + 1];
    demand(
      type !== "reasoning" || (next !== undefined && isOutput(next)),
      `Item '${item["id"]}' of type 'reasoning' was provided without its required following item.`,
    );
  }
  demand(open.size === 0, `No tool output found for function call ${[...open][0]}.`);
}

function checkGenuine(item: JsonObject, ledger: ThinkingLedger): void {
  demand(
    ledger.isGenuine(thinkingOf(item)),
    `The encrypted content for item ${item["id"]} could not be verified. ` +
      "Reason: Encrypted content could not be decrypted or parsed.",
  );
}
