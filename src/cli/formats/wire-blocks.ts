import type { AssistantBlock, ResultBlock, StopReason, ToolResult, Usage } from "../../protocol/index.ts";

/** Converts a response's blocks to the Messages API format, which readers of stream-json expect. */
export function wireContent(blocks: readonly AssistantBlock[]): unknown[] {
  return blocks.map((block) => {
    if (block.type === "text") return { type: "text", text: block.text };
    if (block.type === "thinking") return { type: "thinking", thinking: block.text, signature: block.signature ?? "" };
    if (block.type === "opaque") return opaqueContent(parsed(block.json));
    return { type: "tool_use", id: block.callId, name: block.name, input: parsed(block.inputJson) };
  });
}

/** The Messages API has no reasoning items; encrypted reasoning is closest to its redacted thinking. */
function opaqueContent(content: unknown): unknown {
  const { type, encrypted_content } = content as { type?: unknown; encrypted_content?: unknown };
  return type === "reasoning" ? { type: "redacted_thinking", data: encrypted_content } : content;
}

export function wireToolResult(callId: string, { outcome, content }: ToolResult): unknown {
  return {
    type: "tool_result",
    tool_use_id: callId,
    content: wireResultContent(content),
    is_error: outcome === "ok" ? undefined : true,
  };
}

function wireResultContent(blocks: readonly ResultBlock[]): unknown {
  const [only, second] = blocks;
  if (only?.type === "text" && second === undefined) return only.text;
  return blocks.map((block) =>
    block.type === "text"
      ? { type: "text", text: block.text }
      : { type: "image", source: { type: "base64", media_type: block.mediaType, data: block.data } },
  );
}

export function wireUsage(usage: Usage): unknown {
  const { cacheWrite1hTokens = 0 } = usage;
  return {
    input_tokens: usage.inputTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cacheReadTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: usage.cacheWriteTokens - cacheWrite1hTokens,
      ephemeral_1h_input_tokens: cacheWrite1hTokens,
    },
    output_tokens: usage.outputTokens,
  };
}

export function wireStopReason(reason: StopReason): string {
  if (reason === "tool_calls") return "tool_use";
  return reason === "pause" ? "pause_turn" : reason;
}

/** Parses JSON. Returns text that is not valid JSON unchanged, so that everything that was recorded is shown. */
export function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}
