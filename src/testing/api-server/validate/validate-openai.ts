import { asList, isObject, type JsonObject } from "../json-values.ts";
import { checkAnswerSchema } from "./answer-schema.ts";
import { demand, demandKeys, demandList, demandObject, demandText, firstProblem } from "./check.ts";

/**
 * Returns why the provider would reject a request, with the position in the body; undefined if it would accept the
 * request.
 */
export function validateOpenai(body: unknown): string | undefined {
  return firstProblem(() => {
    const request = demandObject(body, "body");
    const unknown = Object.keys(request).find((key) => !requestKeys.has(key));
    demand(unknown === undefined, `Unrecognized request argument supplied: ${unknown}`);
    demand(typeof request["model"] === "string" && request["model"] !== "", "you must provide a model parameter");
    const streams = request["stream"] === true;
    demand(
      request["stream_options"] === undefined || streams,
      "'stream_options' is only allowed when 'stream' is true",
    );
    checkTools(request);
    checkResponseFormat(request["response_format"]);
    const messages = demandList(request["messages"], "messages");
    demand(messages.length > 0, "messages: at least one message is required");
    checkSequence(messages.map((message, index) => checkMessage(message, `messages[${index}]`)));
  });
}

const requestKeys = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "n",
  "stop",
  "seed",
  "user",
  "metadata",
  "store",
  "reasoning_effort",
  "verbosity",
  "response_format",
  "frequency_penalty",
  "presence_penalty",
  "logit_bias",
  "logprobs",
  "top_logprobs",
  "service_tier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "safety_identifier",
  "modalities",
  "prediction",
  "web_search_options",
]);

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;
const messageKeys = ["role", "content", "name", "tool_calls", "tool_call_id", "refusal", "reasoning_content"];

function checkResponseFormat(value: unknown): void {
  if (value === undefined) return;
  const format = demandObject(value, "response_format");
  const types = ["text", "json_object", "json_schema"];
  demand(types.includes(String(format["type"])), `response_format.type: should be one of ${types.join(", ")}`);
  if (format["type"] !== "json_schema") return;
  const where = "response_format.json_schema";
  const described = demandObject(format["json_schema"], where);
  demandKeys(described, where, ["name", "description", "schema", "strict"]);
  demand(namePattern.test(String(described["name"])), `${where}.name: does not match ${namePattern.source}`);
  if (described["strict"] !== true) return;
  demand(
    isObject(described["schema"]) && described["schema"]["type"] === "object",
    `${where}.schema: must be an object`,
  );
  checkAnswerSchema(described["schema"], { where: `${where}.schema`, everythingRequired: true });
}

function checkTools(request: JsonObject): void {
  if (request["tools"] === undefined) {
    demand(request["tool_choice"] === undefined, "'tool_choice' is only allowed when 'tools' are specified");
    return;
  }
  const tools = demandList(request["tools"], "tools");
  demand(tools.length > 0, "tools: [] is too short");
  demand(acceptsTools(request), toolsRefused(request));
  for (const [index, entry] of tools.entries()) {
    const where = `tools[${index}]`;
    const tool = demandObject(entry, where);
    demand(tool["type"] === "function", `${where}.type: should be 'function'`);
    const described = demandObject(tool["function"], `${where}.function`);
    demandKeys(described, `${where}.function`, ["name", "description", "parameters", "strict"]);
    demand(namePattern.test(String(described["name"])), `${where}.function.name: does not match ${namePattern.source}`);
    if (described["parameters"] === undefined) continue;
    const parameters = demandObject(described["parameters"], `${where}.function.parameters`);
    demand(parameters["type"] === "object", `${where}.function.parameters: schema must be of type 'object'`);
  }
}

/**
 * Returns whether the model accepts tools. Newer models reason unless the request turns that off, and accept no tools
 * while they reason. Some always reason.
 */
function acceptsTools({ model, reasoning_effort: effort }: JsonObject): boolean {
  if (/^gpt-(6-astra|6\.)/.test(String(model))) return false;
  if (/^gpt-(5\.6|6)/.test(String(model))) return effort === "none";
  return !/^gpt-5\.4/.test(String(model)) || effort === undefined || effort === "none";
}

function toolsRefused({ model }: JsonObject): string {
  const what = `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions.`;
  return `${what} To use function tools, use /v1/responses or set reasoning_effort to 'none'.`;
}

function checkMessage(entry: unknown, where: string): JsonObject {
  const message = demandObject(entry, where);
  demandKeys(message, where, messageKeys);
  const { role, content } = message;
  const roles = ["system", "developer", "user", "assistant", "tool"];
  demand(roles.includes(String(role)), `${where}.role: '${role}' is not one of ${roles.join(", ")}`);
  if (role === "tool") demandText(message["tool_call_id"], `${where}.tool_call_id`);
  demand(
    role === "assistant" || message["tool_calls"] === undefined,
    `${where}.tool_calls: only for assistant messages`,
  );
  if (message["tool_calls"] !== undefined) checkCalls(message["tool_calls"], where);
  const mayBeEmpty = role === "assistant" && message["tool_calls"] !== undefined;
  demand(mayBeEmpty || (content !== null && content !== undefined), `${where}.content: expected a string, got null`);
  if (content === null || content === undefined || typeof content === "string") return message;
  const parts = demandList(content, `${where}.content`);
  demand(parts.length > 0, `${where}.content: [] is too short`);
  for (const [index, part] of parts.entries()) checkPart(part, { where: `${where}.content[${index}]`, role });
  return message;
}

function checkPart(entry: unknown, { where, role }: { where: string; role: unknown }): void {
  const part = demandObject(entry, where);
  const types = role === "user" ? ["text", "image_url", "input_audio", "file"] : ["text", "refusal"];
  demand(types.includes(String(part["type"])), `${where}.type: '${part["type"]}' is not one of ${types.join(", ")}`);
  if (part["type"] !== "text") return;
  demandKeys(part, where, ["type", "text"]);
  demandText(part["text"], `${where}.text`);
}

function checkCalls(value: unknown, where: string): void {
  const calls = demandList(value, `${where}.tool_calls`);
  demand(calls.length > 0, `${where}.tool_calls: [] is too short`);
  const ids = new Set<string>();
  for (const [index, entry] of calls.entries()) {
    const here = `${where}.tool_calls[${index}]`;
    const call = demandObject(entry, here);
    demandKeys(call, here, ["id", "type", "function"]);
    const id = demandText(call["id"], `${here}.id`);
    demand(!ids.has(id), `${here}.id: duplicate '${id}'`);
    ids.add(id);
    demand(call["type"] === "function", `${here}.type: should be 'function'`);
    const called = demandObject(call["function"], `${here}.function`);
    demand(namePattern.test(String(called["name"])), `${here}.function.name: does not match ${namePattern.source}`);
    demandText(called["arguments"], `${here}.function.arguments`);
  }
}

/** Checks that tool messages directly follow the calls that they answer, and that every call has one. */
function checkSequence(messages: readonly JsonObject[]): void {
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message["role"] === "tool") {
      const id = String(message["tool_call_id"]);
      demand(
        open.delete(id),
        `messages[${index}]: a 'tool' message must answer a preceding assistant message with 'tool_calls'; '${id}' is not open`,
      );
      continue;
    }
    demandAnswered(open, index);
    const calls = asList(message["tool_calls"]).filter(isObject);
    open = new Set(calls.map((call) => String(call["id"])));
  }
  demandAnswered(open, messages.length);
}

function demandAnswered(open: ReadonlySet<string>, index: number): void {
  demand(
    open.size === 0,
    `messages[${index}]: an assistant message with 'tool_calls' must be followed by tool messages for each ` +
      `'tool_call_id'; no answer for ${[...open].join(", ")}`,
  );
}
