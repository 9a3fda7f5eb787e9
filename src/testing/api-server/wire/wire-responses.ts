import { asList, asObject, type JsonObject } from "../json-values.ts";
import type { Frame, WireMessage, WirePart } from "./wire-message.ts";

/** Yields the message as server-sent events, one by one, so that a huge response is never in memory as a whole. */
export function* responsesFrames(message: WireMessage, request: unknown): Generator<Frame> {
  let sequence = 0;
  const event = (type: string, fields: JsonObject, role?: Frame["role"]): Frame => {
    const data = JSON.stringify({ type, ...fields, sequence_number: sequence });
    sequence += 1;
    return { text: `event: ${type}\ndata: ${data}\n\n`, role };
  };
  const begun = { ...responseOf(message, request), status: "in_progress", output: [], incomplete_details: null };
  yield event("response.created", { response: { ...begun, usage: null } });
  yield event("response.in_progress", { response: { ...begun, usage: null } });
  for (const [index, part] of message.parts.entries()) {
    const item = itemOf(part, { message, index, request });
    const at = { item_id: item["id"], output_index: index };
    yield event("response.output_item.added", { output_index: index, item: startOf(part, item) });
    if (part.kind === "text") {
      const [whole = {}] = asList(item["content"]).map(asObject);
      const isRefusal = whole["type"] === "refusal";
      const place = { ...at, content_index: 0 };
      const empty = isRefusal ? { ...whole, refusal: "" } : { ...whole, text: "" };
      yield event("response.content_part.added", { ...place, part: empty });
      const name = isRefusal ? "response.refusal" : "response.output_text";
      const more = isRefusal ? {} : { logprobs: [] };
      for (const delta of part.pieces) yield event(`${name}.delta`, { ...place, delta, ...more });
      const text = part.pieces.join("");
      yield event(`${name}.done`, { ...place, ...(isRefusal ? { refusal: text } : { text, ...more }) });
      yield event("response.content_part.done", { ...place, part: whole });
    }
    for (const [summary_index, whole] of asList(item["summary"]).entries()) {
      const place = { ...at, summary_index };
      const pieces = part.kind === "thinking" ? part.pieces : [];
      yield event("response.reasoning_summary_part.added", { ...place, part: { type: "summary_text", text: "" } });
      for (const delta of pieces) yield event("response.reasoning_summary_text.delta", { ...place, delta });
      yield event("response.reasoning_summary_text.done", { ...place, text: pieces.join("") });
      yield event("response.reasoning_summary_part.done", { ...place, part: whole });
    }
    if (part.kind === "tool") {
      for (const delta of part.pieces) {
        yield event("response.function_call_arguments.delta", { ...at, delta }, "tool-input");
      }
      const { name, arguments: whole } = item;
      yield event("response.function_call_arguments.done", { ...at, name, arguments: whole });
    }
    yield event("response.output_item.done", { output_index: index, item });
  }
  const response = responseOf(message, request);
  yield event(`response.${response["status"]}`, { response }, "end");
}

/** Returns the message as one JSON object. */
export function responsesBody(message: WireMessage, request: unknown): string {
  return JSON.stringify(responseOf(message, request));
}

export function responsesErrorFrame(type: string, message: string): Frame {
  const data = { type: "error", code: type, message, param: null, sequence_number: 0 };
  return { text: `event: error\ndata: ${JSON.stringify(data)}\n\n` };
}

function responseOf(message: WireMessage, request: unknown): JsonObject {
  const body = asObject(request);
  const reason = incompleteReason(message);
  return {
    id: message.id,
    object: "response",
    created_at: 1_700_000_000,
    status: reason === undefined ? "completed" : "incomplete",
    background: false,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: null,
    max_output_tokens: body["max_output_tokens"] ?? null,
    model: message.model,
    output: message.parts.map((part, index) => itemOf(part, { message, index, request })),
    parallel_tool_calls: body["parallel_tool_calls"] ?? true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null, ...asObject(body["reasoning"]) },
    store: false,
    temperature: 1,
    text: { format: { type: "text" }, ...asObject(body["text"]) },
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    truncation: "disabled",
    usage: usageOf(message),
    user: null,
    metadata: {},
  };
}

function incompleteReason({ stopReason }: WireMessage): string | undefined {
  return stopReason === "max_tokens" || stopReason === "model_context_window_exceeded"
    ? "max_output_tokens"
    : undefined;
}

type Place = { message: WireMessage; index: number; request: unknown };

/** Returns a part as the output item that a client sends back. */
function itemOf(part: WirePart, { message, index, request }: Place): JsonObject {
  const id = `${message.id.slice("resp_".length)}${index}`;
  const isCut = incompleteReason(message) !== undefined && index === message.parts.length - 1;
  const status = isCut ? "incomplete" : "completed";
  switch (part.kind) {
    case "text": {
      const text = part.pieces.join("");
      const content =
        message.stopReason === "refusal"
          ? { type: "refusal", refusal: text }
          : { type: "output_text", text, annotations: [], logprobs: [] };
      const phase = message.parts.slice(index).some(({ kind }) => kind === "tool") ? "commentary" : "final_answer";
      const whole = { id: `msg_${id}`, type: "message", status, content: [content] };
      return { ...whole, ...(hasPhases(message.model) ? { phase } : {}), role: "assistant" };
    }
    case "thinking":
      return reasoning(`rs_${id}`, { request, text: part.pieces.join(""), content: part.signature });
    case "tool": {
      const call = { arguments: part.pieces.join(""), call_id: part.id, name: part.name };
      return { id: `fc_${id}`, type: "function_call", status, ...call };
    }
    case "block":
      return { id: `item_${id}`, ...part.block };
    case "redacted":
      throw new Error("the Responses API has no redacted thinking");
  }
}

/** Returns whether a model's messages say whether they are commentary or the final answer. */
function hasPhases(model: string): boolean {
  return /^gpt-(5\.[4-9]|6)/.test(model);
}

function reasoning(id: string, { request, text, content }: { request: unknown; text: string; content: string }) {
  const summary = text === "" ? [] : [{ type: "summary_text", text }];
  const isIncluded = asList(asObject(request)["include"]).includes("reasoning.encrypted_content");
  return { id, type: "reasoning", ...(isIncluded ? { encrypted_content: content } : {}), summary };
}

/** Returns the item as it is before any of its content has been sent. */
function startOf(part: WirePart, item: JsonObject): JsonObject {
  switch (part.kind) {
    case "text":
      return { ...item, status: "in_progress", content: [] };
    case "tool":
      return { ...item, status: "in_progress", arguments: "" };
    case "thinking":
      return { ...item, summary: [] };
    default:
      return item;
  }
}

function usageOf({ usage, parts }: WireMessage): JsonObject {
  // This wire format includes cached tokens in input_tokens.
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const isReasoning = parts.some(({ kind }) => kind === "thinking");
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cacheReadTokens, cache_write_tokens: usage.cacheWriteTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: isReasoning ? 1 : 0 },
    total_tokens: input + usage.outputTokens,
  };
}
