import { isObject, type JsonObject } from "../json-values.ts";
import type { StopReason } from "../types.ts";
import { signPart } from "../validate/gemini-signature.ts";
import type { Frame, WireMessage, WirePart } from "./wire-message.ts";

const finishReasons: Record<StopReason, string> = {
  end_turn: "STOP",
  stop_sequence: "STOP",
  pause_turn: "STOP",
  tool_use: "STOP",
  compaction: "STOP",
  max_tokens: "MAX_TOKENS",
  model_context_window_exceeded: "MAX_TOKENS",
  refusal: "SAFETY",
};

/** Whether and how calls and texts are signed. */
export type Signing = { seed: number; thinks: boolean };

/**
 * Yields the message as chunks, each of which is a response with a part of the content. Calls are never split, and
 * nothing but the finish reason marks the end.
 */
export function* geminiFrames(message: WireMessage, signing: Signing): Generator<Frame> {
  if (message.parts.length === 0 && message.stopReason === "refusal") {
    yield { text: frameOf(blocked(message)), role: "end" };
    return;
  }
  for (const { part, isCall } of partsOf(message, signing)) {
    const chunk = responseOf(message, { content: { parts: [part], role: "model" }, index: 0 });
    yield { text: frameOf({ ...chunk, usageMetadata: promptUsage(message) }), role: isCall ? "tool-input" : undefined };
  }
  yield { text: frameOf(responseOf(message, lastCandidate(message, closingParts(message, signing)))), role: "end" };
}

/** Returns the message as one JSON object. */
export function geminiBody(message: WireMessage, signing: Signing): string {
  if (message.parts.length === 0 && message.stopReason === "refusal") return JSON.stringify(blocked(message));
  const parts: JsonObject[] = [];
  for (const { part } of partsOf(message, signing)) {
    const last = parts.at(-1);
    const continues = typeof part["text"] === "string" && last?.["text"] !== undefined;
    if (continues && last["thought"] === part["thought"])
      parts[parts.length - 1] = { ...last, text: `${last["text"]}${part["text"]}` };
    else parts.push(part);
  }
  return JSON.stringify(responseOf(message, lastCandidate(message, [...parts, ...closingParts(message, signing)])));
}

/** Returns an error in the middle of a stream, which is not an event. */
export function geminiErrorFrame(type: string, message: string): Frame {
  const error = geminiError(statusCodes[statusOf(type)] ?? 500, { type, message });
  return { text: `${JSON.stringify({ error }, null, 2)}\n` };
}

/** Returns an error as Google describes it. `type` is a status, or the Anthropic name of an error. */
export function geminiError(
  code: number,
  { type, message, details }: { type?: string | undefined; message: string; details?: readonly JsonObject[] },
): JsonObject {
  const tooLong = "The input token count exceeds the maximum number of tokens allowed (1048576).";
  return {
    code,
    message: type === "context_length_exceeded" ? `${message} ${tooLong}` : message,
    status: type === undefined ? (statuses[code] ?? "UNKNOWN") : statusOf(type),
    details,
  };
}

const statuses: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

const statusCodes: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(statuses).map(([code, status]) => [status, Number(code)]),
);

const statusesByType: Readonly<Record<string, string>> = {
  invalid_request_error: "INVALID_ARGUMENT",
  context_length_exceeded: "INVALID_ARGUMENT",
  authentication_error: "UNAUTHENTICATED",
  permission_error: "PERMISSION_DENIED",
  not_found_error: "NOT_FOUND",
  rate_limit_error: "RESOURCE_EXHAUSTED",
  overloaded_error: "UNAVAILABLE",
  api_error: "INTERNAL",
  server_error: "INTERNAL",
};

function statusOf(type: string): string {
  return statusesByType[type] ?? type;
}

/** Yields the parts in which the content is streamed. */
function* partsOf(message: WireMessage, signing: Signing): Generator<{ part: JsonObject; isCall?: true }> {
  let thoughts: string[] = [];
  let calls = 0;
  for (const part of message.parts) {
    if (part.kind === "text") for (const text of part.pieces) yield { part: { text } };
    if (part.kind === "block") yield { part: part.block };
    if (part.kind === "thinking") {
      thoughts.push(part.pieces.join(""));
      for (const text of part.pieces) if (text !== "") yield { part: { text, thought: true } };
    }
    const args = part.kind === "tool" ? argumentsOf(part) : undefined;
    if (part.kind !== "tool" || args === undefined) continue;
    const call = { functionCall: { id: part.id, name: part.name, args } };
    // Of several parallel calls, only the first one has a signature.
    const isSigned = calls === 0 || thoughts.length > 0;
    yield { part: isSigned ? signed(call, { message, signing, thoughts }) : call, isCall: true };
    thoughts = [];
    calls += 1;
  }
}

/** Returns the part that ends the content. The signature of a message without calls comes with an empty text. */
function closingParts(message: WireMessage, signing: Signing): readonly JsonObject[] {
  if (!signing.thinks) return [];
  const lastCall = message.parts.findLastIndex(({ kind }) => kind === "tool");
  const rest = message.parts.slice(lastCall + 1);
  const thoughts = rest.flatMap((part) => (part.kind === "thinking" ? [part.pieces.join("")] : []));
  return lastCall >= 0 && thoughts.length === 0 ? [] : [signed({ text: "" }, { message, signing, thoughts })];
}

type SigningPlace = { message: WireMessage; signing: Signing; thoughts: readonly string[] };

function signed(part: JsonObject, { message, signing, thoughts }: SigningPlace): JsonObject {
  if (!signing.thinks) return part;
  const contents = { model: message.model, thoughts: thoughts.join("\n") };
  return { ...part, thoughtSignature: signPart(part, { signed: contents, seed: signing.seed }) };
}

/** Returns the arguments of a call. The API does not return text that is not JSON. */
function argumentsOf({ pieces }: Extract<WirePart, { kind: "tool" }>): unknown {
  try {
    return JSON.parse(pieces.join("") || "{}");
  } catch {
    return undefined;
  }
}

function lastCandidate(message: WireMessage, parts: readonly JsonObject[]): JsonObject {
  const isMalformed = message.parts.some((part) => part.kind === "tool" && !isObject(argumentsOf(part)));
  const usual = finishReasons[message.stopReason];
  const finishReason = message.finishReason ?? (isMalformed && usual === "STOP" ? "MALFORMED_FUNCTION_CALL" : usual);
  const content = parts.length > 0 ? { parts, role: "model" } : { role: "model" };
  return { content, finishReason, index: 0 };
}

function responseOf(message: WireMessage, candidate: JsonObject): JsonObject {
  const { model, id } = message;
  return { candidates: [candidate], usageMetadata: usageOf(message), modelVersion: model, responseId: id };
}

function blocked(message: WireMessage): JsonObject {
  const { model, id } = message;
  const promptFeedback = { blockReason: message.finishReason ?? "PROHIBITED_CONTENT" };
  return { promptFeedback, usageMetadata: promptUsage(message), modelVersion: model, responseId: id };
}

/** This wire format includes cached tokens in promptTokenCount, and excludes thoughts from candidatesTokenCount. */
function usageOf(message: WireMessage): JsonObject {
  const { usage, parts } = message;
  const bytes = parts.flatMap((part) => (part.kind === "thinking" ? part.pieces : [])).join("").length;
  const thoughts = Math.min(usage.outputTokens, Math.ceil(bytes / 4));
  const prompt = promptUsage(message);
  return {
    ...prompt,
    candidatesTokenCount: usage.outputTokens - thoughts,
    thoughtsTokenCount: thoughts === 0 ? undefined : thoughts,
    totalTokenCount: Number(prompt["promptTokenCount"]) + usage.outputTokens,
  };
}

function promptUsage({ usage }: WireMessage): JsonObject {
  const prompt = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const cached = usage.cacheReadTokens === 0 ? undefined : usage.cacheReadTokens;
  return { promptTokenCount: prompt, cachedContentTokenCount: cached, totalTokenCount: prompt };
}

function frameOf(value: JsonObject): string {
  return `data: ${JSON.stringify(value)}\r\n\r\n`;
}
