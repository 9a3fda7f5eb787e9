import { asList, asObject, asText, isObject, type JsonObject } from "../json-values.ts";
import type { RecordedRequest } from "../types.ts";
import { contentsOf, thoughtsIn } from "../validate/gemini-signature.ts";
import { inputItems, isOutput, thinkingOf } from "../validate/reasoning.ts";

/** A tool call in a request's message. */
export type SeenToolCall = { id: string; name: string; input: unknown };
/** A call's result in a request's message. */
export type SeenToolResult = { id: string; text: string; isError: boolean };
/** A request's message, in the same form for all wire formats. */
export type SeenMessage = {
  role: "user" | "assistant";
  text: string;
  thinking: string;
  toolCalls: readonly SeenToolCall[];
  toolResults: readonly SeenToolResult[];
};

/**
 * Returns a request's messages, in the same form for all wire formats: consecutive OpenAI tool messages become one user
 * message, and so do consecutive items of one side in the Responses API.
 */
export function messagesOf(request: RecordedRequest): readonly SeenMessage[] {
  if (request.wire === "responses") return messagesOfItems(inputItems(request.body));
  if (request.wire === "gemini") return contentsOf(request.body).map(geminiMessage);
  const messages = asList(asObject(request.body)["messages"]).map(asObject);
  return request.wire === "openai" ? openaiMessages(messages) : messages.map(anthropicMessage);
}

/** Returns a request's system text, with its blocks joined by newlines. */
export function systemOf(request: RecordedRequest): string {
  const body = asObject(request.body);
  if (request.wire === "responses") return textOf(body["instructions"]);
  if (request.wire === "gemini") return textOf(asObject(body["systemInstruction"])["parts"]);
  if (request.wire !== "openai") return textOf(body["system"]);
  const isSystem = (message: JsonObject) => message["role"] === "system" || message["role"] === "developer";
  const messages = asList(body["messages"]).map(asObject).filter(isSystem);
  return messages.map((message) => textOf(message["content"])).join("\n");
}

/** Returns the names of the tools that a request offers. */
export function toolNamesOf(request: RecordedRequest): readonly string[] {
  const listed = asList(asObject(request.body)["tools"]).map(asObject);
  const isGemini = request.wire === "gemini";
  const tools = isGemini ? listed.flatMap((tool) => asList(tool["functionDeclarations"]).map(asObject)) : listed;
  return tools.map((tool) => asText(isObject(tool["function"]) ? tool["function"]["name"] : tool["name"]));
}

function anthropicMessage(message: JsonObject): SeenMessage {
  const blocks = asList(message["content"]).map(asObject);
  const ofType = (type: string) => blocks.filter((block) => block["type"] === type);
  return {
    role: message["role"] === "assistant" ? "assistant" : "user",
    text: textOf(message["content"]),
    thinking: ofType("thinking")
      .map((block) => asText(block["thinking"]))
      .join("\n"),
    toolCalls: ofType("tool_use").map((block) => ({
      id: asText(block["id"]),
      name: asText(block["name"]),
      input: block["input"],
    })),
    toolResults: ofType("tool_result").map((block) => ({
      id: asText(block["tool_use_id"]),
      text: textOf(block["content"]),
      isError: block["is_error"] === true,
    })),
  };
}

function openaiMessages(messages: readonly JsonObject[]): readonly SeenMessage[] {
  const seen: SeenMessage[] = [];
  for (const message of messages) {
    const role = message["role"];
    if (role === "system" || role === "developer") continue;
    if (role !== "tool") {
      seen.push(openaiMessage(message));
      continue;
    }
    const result = { id: asText(message["tool_call_id"]), text: textOf(message["content"]), isError: false };
    const last = seen.at(-1);
    if (last === undefined || last.toolResults.length === 0 || last.role !== "user") {
      seen.push({ role: "user", text: "", thinking: "", toolCalls: [], toolResults: [result] });
    } else {
      seen[seen.length - 1] = { ...last, toolResults: [...last.toolResults, result] };
    }
  }
  return seen;
}

function openaiMessage(message: JsonObject): SeenMessage {
  const calls = asList(message["tool_calls"]).map(asObject);
  return {
    role: message["role"] === "assistant" ? "assistant" : "user",
    text: textOf(message["content"]),
    thinking: asText(message["reasoning_content"]),
    toolCalls: calls.map((call) => {
      const { name, arguments: text } = asObject(call["function"]);
      return { id: asText(call["id"]), name: asText(name), input: parsed(asText(text)) };
    }),
    toolResults: [],
  };
}

function messagesOfItems(items: readonly JsonObject[]): readonly SeenMessage[] {
  const seen: SeenMessage[] = [];
  for (const item of items) {
    const role = isOutput(item) ? "assistant" : "user";
    const last = seen.at(-1);
    if (last?.role === role) seen[seen.length - 1] = withItem(last, item);
    else seen.push(withItem({ role, text: "", thinking: "", toolCalls: [], toolResults: [] }, item));
  }
  return seen;
}

function withItem(message: SeenMessage, item: JsonObject): SeenMessage {
  const id = asText(item["call_id"]);
  const joined = (before: string, text: string) => (before === "" ? text : `${before}\n${text}`);
  switch (item["type"]) {
    case "function_call": {
      const call = { id, name: asText(item["name"]), input: parsed(asText(item["arguments"])) };
      return { ...message, toolCalls: [...message.toolCalls, call] };
    }
    case "function_call_output": {
      const result = { id, text: textOf(item["output"]), isError: false };
      return { ...message, toolResults: [...message.toolResults, result] };
    }
    case "reasoning":
      return { ...message, thinking: joined(message.thinking, asText(thinkingOf(item)["thinking"])) };
    default:
      return { ...message, text: joined(message.text, textOf(item["content"])) };
  }
}

/** The thinking of a message is what its signatures contain. */
function geminiMessage({ role, parts }: JsonObject): SeenMessage {
  const all = asList(parts).map(asObject);
  const ofKind = (kind: string) => all.flatMap((part) => (isObject(part[kind]) ? [part[kind]] : []));
  return {
    role: role === "model" ? "assistant" : "user",
    text: textOf(all.filter((part) => part["thought"] !== true && part["text"] !== "")),
    thinking: all.flatMap((part) => thoughtsIn(part["thoughtSignature"]) ?? []).join("\n"),
    toolCalls: ofKind("functionCall").map((call) => ({
      id: asText(call["id"]),
      name: asText(call["name"]),
      input: call["args"],
    })),
    toolResults: ofKind("functionResponse").map(({ id, response }) => {
      const { output, error } = asObject(response);
      return { id: asText(id), text: asText(error ?? output), isError: error !== undefined };
    }),
  };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const blocks = asList(content).map(asObject);
  const texts = blocks.flatMap((block) => (typeof block["text"] === "string" ? [block["text"]] : []));
  return texts.join("\n");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
