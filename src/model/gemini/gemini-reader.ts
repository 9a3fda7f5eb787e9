import type { AssistantBlock, StopReason, Usage } from "../../protocol/index.ts";
import {
  type AnswerReader,
  createPairKeeper,
  type ProviderError,
  parseObject,
  providerErrorOf,
  type ReaderOptions,
  wellFormed,
} from "../answer.ts";

/**
 * Reads the dialect of Google's Gemini API. Every event is a response with a part of the content. A clean close after a
 * finish reason completes a response, because the last parts can follow it.
 */
export function createGeminiReader({ origin, callId, emit }: ReaderOptions): AnswerReader {
  const pieces: Piece[] = [];
  let calls = 0;
  let incompleteCalls = 0;
  let finishReason: string | undefined;
  let isBlocked = false;
  let isClosed = false;
  let tokens: GeminiUsage | undefined;
  let error: ProviderError | undefined;

  function say(kind: "text" | "thinking", text: string): void {
    let piece = pieces.at(-1);
    if (piece?.kind !== kind) {
      piece = { kind, text: "", keep: createPairKeeper() };
      pieces.push(piece);
    }
    piece.text += text;
    const whole = piece.keep(text);
    if (whole !== "") emit({ type: kind === "text" ? "text.delta" : "thinking.delta", text: whole });
  }

  /** Keeps a signature as JSON that is sent back. Its name comes first, so that it can be recognized. */
  function sign(signature: string | undefined, part: object = {}): void {
    if (typeof signature !== "string" || signature === "") return;
    const json = JSON.stringify({ thoughtSignature: signature, ...part });
    pieces.push({ kind: "block", block: { type: "opaque", json, origin } });
  }

  function take({ text, thought, thoughtSignature, functionCall }: GeminiPart): void {
    if (functionCall) {
      const { name = "", args = {} } = functionCall;
      const index = calls++;
      emit({ type: "call.delta", index, name, json: "" });
      if (name === "" || typeof args !== "object" || args === null || Array.isArray(args)) {
        incompleteCalls += 1;
        return;
      }
      const inputJson = JSON.stringify(args);
      emit({ type: "call.delta", index, name, json: inputJson });
      sign(thoughtSignature);
      pieces.push({ kind: "block", block: { type: "tool_call", callId: callId(index), name, inputJson } });
      return;
    }
    if (typeof text !== "string") return;
    if (text !== "") say(thought === true ? "thinking" : "text", text);
    // The signature of a text is kept apart from it, because the text is usually the end of a longer one.
    if (thought === true) sign(thoughtSignature, { thought, text });
    else sign(thoughtSignature, { text: "" });
  }

  function takeChunk(chunk: GeminiChunk): void {
    if (chunk.error) {
      error = providerErrorOf(chunk.error);
      return;
    }
    if (chunk.usageMetadata) tokens = chunk.usageMetadata;
    if (chunk.promptFeedback?.blockReason) isBlocked = true;
    const [candidate] = chunk.candidates ?? [];
    for (const part of candidate?.content?.parts ?? []) take(part);
    if (candidate?.finishReason) finishReason = candidate.finishReason;
  }

  const isFinished = () => isBlocked || finishReason !== undefined;
  const content = () => pieces.map(blockOf);

  function blockOf(piece: Piece): AssistantBlock {
    if (piece.kind === "block") return piece.block;
    const text = wellFormed(piece.text);
    return piece.kind === "text" ? { type: "text", text } : { type: "thinking", text, origin };
  }

  return {
    event(data) {
      const chunk = parseObject(data);
      if (chunk === undefined) return "an event in the stream is not JSON";
      takeChunk(chunk);
      return undefined;
    },
    whole(body) {
      for (const chunk of Array.isArray(body) ? body : [body]) takeChunk(chunk as GeminiChunk);
      if (error === undefined && !isFinished()) return "the response is not a complete message";
      isClosed = true;
      return undefined;
    },
    ended: () => isClosed && isFinished(),
    closed() {
      isClosed = true;
    },
    providerError: () => error,
    answer() {
      const reason = isBlocked ? "refusal" : (stopReasons[finishReason ?? ""] ?? "end_turn");
      const isCalling = pieces.some((piece) => piece.kind === "block" && piece.block.type === "tool_call");
      return {
        ok: true,
        message: { role: "assistant", content: content() },
        stopReason: reason === "end_turn" && isCalling ? "tool_calls" : reason,
        usage: usageOf(tokens),
        incompleteCalls: incompleteCalls + (invalidCalls.has(finishReason ?? "") ? 1 : 0),
      };
    },
    partial: () => content().filter(({ type }) => type === "text" || type === "thinking"),
    usage: () => (tokens ? usageOf(tokens) : undefined),
  };
}

type Piece =
  | { readonly kind: "text" | "thinking"; text: string; readonly keep: (text: string) => string }
  | { readonly kind: "block"; readonly block: AssistantBlock };

const stopReasons: Readonly<Record<string, StopReason>> = {
  STOP: "end_turn",
  MAX_TOKENS: "max_tokens",
  SAFETY: "refusal",
  RECITATION: "refusal",
  LANGUAGE: "refusal",
  BLOCKLIST: "refusal",
  PROHIBITED_CONTENT: "refusal",
  SPII: "refusal",
};

/** Finish reasons of a response that ends with a call which the API does not return, because it is invalid. */
const invalidCalls: ReadonlySet<string> = new Set([
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
]);

/** Converts the usage. The prompt's tokens include cached ones; those of the answer don't include its thoughts. */
function usageOf(tokens: GeminiUsage | undefined): Usage {
  const prompt = (tokens?.promptTokenCount ?? 0) + (tokens?.toolUsePromptTokenCount ?? 0);
  const read = Math.min(prompt, tokens?.cachedContentTokenCount ?? 0);
  return {
    inputTokens: prompt - read,
    cacheReadTokens: read,
    cacheWriteTokens: 0,
    outputTokens: (tokens?.candidatesTokenCount ?? 0) + (tokens?.thoughtsTokenCount ?? 0),
  };
}

/** The fields of the Gemini dialect that are read. Any field may be missing, whatever the documentation says. */
interface GeminiChunk {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly GeminiPart[] };
    readonly finishReason?: string;
  }[];
  readonly promptFeedback?: { readonly blockReason?: string };
  readonly usageMetadata?: GeminiUsage;
  readonly error?: unknown;
}

interface GeminiPart {
  readonly text?: string;
  readonly thought?: boolean;
  readonly thoughtSignature?: string;
  readonly functionCall?: { readonly name?: string; readonly args?: unknown };
}

interface GeminiUsage {
  readonly promptTokenCount?: number;
  readonly cachedContentTokenCount?: number;
  readonly toolUsePromptTokenCount?: number;
  readonly candidatesTokenCount?: number;
  readonly thoughtsTokenCount?: number;
}
