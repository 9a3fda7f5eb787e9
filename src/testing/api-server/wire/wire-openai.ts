import type { StopReason } from "../types.ts";
import type { Frame, WireMessage } from "./wire-message.ts";

const finishReasons: Record<StopReason, string> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "content_filter",
  compaction: "stop",
};

/** Yields the message as chunks, one by one, so that a huge response is never in memory as a whole. */
export function* openaiFrames(message: WireMessage, includeUsage: boolean): Generator<Frame> {
  const head = { id: message.id, object: "chat.completion.chunk", created: 1_700_000_000, model: message.model };
  const chunk = (delta: unknown, finish: string | null = null, role?: Frame["role"]): Frame => {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
    return data({ ...head, choices, usage: includeUsage ? null : undefined }, role);
  };
  yield chunk({ role: "assistant", content: "" });
  let call = -1;
  for (const part of message.parts) {
    if (part.kind === "text") for (const content of part.pieces) yield chunk({ content });
    // Servers for open models stream reasoning in this field. OpenAI itself does not.
    if (part.kind === "thinking") for (const piece of part.pieces) yield chunk({ reasoning_content: piece });
    if (part.kind !== "tool") continue;
    call += 1;
    const start = { index: call, id: part.id, type: "function", function: { name: part.name, arguments: "" } };
    yield chunk({ tool_calls: [start] });
    for (const piece of part.pieces) {
      yield chunk({ tool_calls: [{ index: call, function: { arguments: piece } }] }, null, "tool-input");
    }
  }
  yield chunk({}, finishReasons[message.stopReason]);
  if (includeUsage) yield data({ ...head, choices: [], usage: usageOf(message) });
  yield { text: "data: [DONE]\n\n", role: "end" };
}

/** Returns the message as one JSON object. */
export function openaiBody(message: WireMessage): string {
  const texts = message.parts.flatMap((part) => (part.kind === "text" ? part.pieces : []));
  const reasoning = message.parts.flatMap((part) => (part.kind === "thinking" ? part.pieces : []));
  const calls = message.parts.flatMap((part) =>
    part.kind === "tool"
      ? [{ id: part.id, type: "function", function: { name: part.name, arguments: part.pieces.join("") } }]
      : [],
  );
  const answer = {
    role: "assistant",
    content: texts.length > 0 ? texts.join("") : null,
    refusal: null,
    reasoning_content: reasoning.length > 0 ? reasoning.join("") : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
  };
  return JSON.stringify({
    id: message.id,
    object: "chat.completion",
    created: 1_700_000_000,
    model: message.model,
    choices: [{ index: 0, message: answer, logprobs: null, finish_reason: finishReasons[message.stopReason] }],
    usage: usageOf(message),
  });
}

export function openaiErrorFrame(type: string, message: string): Frame {
  return data({ error: { message, type, param: null, code: null } });
}

function data(value: unknown, role?: Frame["role"]): Frame {
  const text = `data: ${JSON.stringify(value)}\n\n`;
  return { text, role };
}

function usageOf({ usage }: WireMessage) {
  // This wire format includes cached tokens in prompt_tokens.
  const prompt = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.outputTokens,
    total_tokens: prompt + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cacheReadTokens, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}
