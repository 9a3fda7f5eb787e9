import type { InputTransformation } from "../types.ts";
import { blockOf, type Frame, type WireMessage, type WirePart } from "./wire-message.ts";

type InputTransformations = readonly InputTransformation[];

/**
 * Yields the message as server-sent events, one by one, so that a huge response is never in memory as a whole.
 * `transformations` are reported if the request asked for them.
 */
export function* anthropicFrames(message: WireMessage, transformations?: InputTransformations): Generator<Frame> {
  yield event("message_start", {
    message: {
      id: message.id,
      type: "message",
      role: "assistant",
      model: message.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: usageOf(message, 1),
      input_transformations: transformations,
    },
  });
  for (const [index, part] of message.parts.entries()) {
    yield event("content_block_start", { index, content_block: startOf(part) });
    if (index === 0) yield event("ping", {});
    for (const delta of deltasOf(part)) {
      yield event("content_block_delta", { index, delta }, part.kind === "tool" ? "tool-input" : undefined);
    }
    yield event("content_block_stop", { index });
  }
  yield event("message_delta", {
    delta: { stop_reason: message.stopReason, stop_sequence: null },
    usage: usageOf(message, message.usage.outputTokens),
  });
  yield event("message_stop", {}, "end");
}

/** Returns the message as one JSON object. */
export function anthropicBody(message: WireMessage, transformations?: InputTransformations): string {
  // Tool input is inserted verbatim, so that number formats and the order of keys are preserved; scripted text that is
  // not JSON becomes {}.
  const content = message.parts.map((part) => {
    if (part.kind !== "tool") return JSON.stringify(blockOf(part));
    const input = isJson(part.pieces.join("")) ? part.pieces.join("") : "{}";
    return `{"type":"tool_use","id":${JSON.stringify(part.id)},"name":${JSON.stringify(part.name)},"input":${input}}`;
  });
  const changes = transformations ? `"input_transformations":${JSON.stringify(transformations)},` : "";
  const usage = JSON.stringify(usageOf(message, message.usage.outputTokens));
  return (
    `{"id":${JSON.stringify(message.id)},"type":"message","role":"assistant","model":${JSON.stringify(message.model)},` +
    `"content":[${content.join(",")}],"stop_reason":${JSON.stringify(message.stopReason)},"stop_sequence":null,` +
    `${changes}"usage":${usage}}`
  );
}

export function anthropicErrorFrame(type: string, message: string): Frame {
  return event("error", { error: { type, message } });
}

function event(type: string, fields: Readonly<Record<string, unknown>>, role?: Frame["role"]): Frame {
  const text = `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  return { text, role };
}

function startOf(part: WirePart): Readonly<Record<string, unknown>> {
  switch (part.kind) {
    case "text":
      return { type: "text", text: "" };
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "tool":
      return { type: "tool_use", id: part.id, name: part.name, input: {} };
    default:
      return blockOf(part);
  }
}

function* deltasOf(part: WirePart): Generator<Readonly<Record<string, unknown>>> {
  if (part.kind === "text") for (const text of part.pieces) yield { type: "text_delta", text };
  if (part.kind === "tool") {
    yield { type: "input_json_delta", partial_json: "" };
    for (const piece of part.pieces) yield { type: "input_json_delta", partial_json: piece };
  }
  if (part.kind === "thinking") {
    for (const thinking of part.pieces) yield { type: "thinking_delta", thinking };
    yield { type: "signature_delta", signature: part.signature };
  }
}

/** Returns what the provider has counted. It counts a summary as an iteration, because it generates no response. */
function usageOf({ usage, isSummary }: WireMessage, outputTokens: number): object {
  const counted = {
    input_tokens: usage.inputTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cacheReadTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: usage.cacheWriteTokens - usage.cacheWrite1hTokens,
      ephemeral_1h_input_tokens: usage.cacheWrite1hTokens,
    },
    output_tokens: outputTokens,
  };
  if (!isSummary) return counted;
  return { input_tokens: 0, output_tokens: 0, iterations: [{ type: "compaction", ...counted }] };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
