import type { ModelProgress } from "../../ports/index.ts";
import type { AssistantBlock, StopReason, Usage } from "../../protocol/index.ts";
import {
  type AnswerReader,
  completeInput,
  createPairKeeper,
  type ProviderError,
  parseObject,
  providerErrorOf,
  type ReaderOptions,
  wellFormed,
} from "../answer.ts";

/**
 * Reads the chat completions dialect. `[DONE]` after a finish reason completes a response; so does a clean close after
 * one, because some local servers send no `[DONE]`.
 */
export function createOpenaiReader({ origin, callId, emit }: ReaderOptions): AnswerReader {
  const parts: Part[] = [];
  const calls = createCallCollector(emit);
  let finishReason: string | undefined;
  let done = false;
  let tokens: OpenaiUsage | undefined;
  let error: ProviderError | undefined;

  function say(kind: Part["kind"], text: string): void {
    let part = parts.at(-1);
    if (part?.kind !== kind) {
      part = { kind, text: "", keep: createPairKeeper() };
      parts.push(part);
    }
    part.text += text;
    const whole = part.keep(text);
    if (whole !== "")
      emit(kind === "text" ? { type: "text.delta", text: whole } : { type: "thinking.delta", text: whole });
  }

  function take(delta: OpenaiDelta): void {
    const thought = delta.reasoning_content ?? delta.reasoning;
    if (typeof thought === "string" && thought !== "") say("thinking", thought);
    const words = textOfContent(delta.content) || textOfContent(delta.refusal);
    if (words !== "") say("text", words);
    for (const call of delta.tool_calls ?? []) calls.take(call);
  }

  function takeChunk(chunk: OpenaiChunk): string | undefined {
    if (chunk.error) {
      error = providerErrorOf(chunk.error);
      return undefined;
    }
    if (chunk.usage) tokens = chunk.usage;
    const choice = chunk.choices?.[0];
    if (!choice) return undefined;
    const delta = choice.delta ?? choice.message;
    if (delta) take(delta);
    if (choice.finish_reason) finishReason = choice.finish_reason;
    return undefined;
  }

  function content(): AssistantBlock[] {
    return parts.map(({ kind, text }) =>
      kind === "text" ? { type: "text", text: wellFormed(text) } : { type: "thinking", text, origin },
    );
  }

  return {
    event(data) {
      if (done) return undefined;
      if (data.trim() === "[DONE]") {
        done = true;
        return finishReason === undefined ? "the stream ended without a finish reason" : undefined;
      }
      const chunk = parseObject(data);
      return chunk === undefined ? "an event in the stream is not JSON" : takeChunk(chunk as OpenaiChunk);
    },
    whole(body) {
      const problem = takeChunk(body as OpenaiChunk);
      if (problem !== undefined || error) return problem;
      if (finishReason === undefined) return "the response is not a complete message";
      done = true;
      return undefined;
    },
    ended: () => done && finishReason !== undefined,
    closed() {
      if (finishReason !== undefined) done = true;
    },
    providerError: () => error,
    answer() {
      const blocks = content();
      let incompleteCalls = 0;
      const cut = mapFinishReason(finishReason) === "max_tokens";
      const begun = calls.calls();
      for (const call of begun) {
        const last = call === begun.at(-1);
        const inputJson = completeInput(call.json, !(cut && last));
        if (inputJson === undefined || call.name === "") incompleteCalls += 1;
        else blocks.push({ type: "tool_call", callId: callId(call.ordinal), name: call.name, inputJson });
      }
      const reason = mapFinishReason(finishReason);
      const calling = blocks.some((block) => block.type === "tool_call");
      return {
        ok: true,
        message: { role: "assistant", content: blocks },
        stopReason: reason === "end_turn" && calling ? "tool_calls" : reason,
        usage: usageOf(tokens),
        incompleteCalls,
      };
    },
    partial: content,
    usage: () => (tokens ? usageOf(tokens) : undefined),
  };
}

interface Part {
  readonly kind: "text" | "thinking";
  text: string;
  readonly keep: (text: string) => string;
}

interface BegunCall {
  /** Position among the calls in the response. */
  readonly ordinal: number;
  readonly index: number | undefined;
  readonly id: string;
  name: string;
  json: string;
}

/** Assembles calls from fragments, and accepts whole calls without an id or an index, which some servers send. */
function createCallCollector(emit: (progress: ModelProgress) => void): {
  take(wire: OpenaiCall): void;
  calls(): readonly BegunCall[];
} {
  const begun: BegunCall[] = [];
  return {
    take(wire) {
      const name = wire.function?.name ?? "";
      const fragment = fragmentOf(wire.function?.arguments);
      let call = continued(begun, wire, name);
      if (call === undefined) {
        call = { ordinal: begun.length, index: wire.index ?? undefined, id: wire.id ?? "", name, json: "" };
        begun.push(call);
        emit({ type: "call.delta", index: call.ordinal, name, json: "" });
      }
      if (call.name === "") call.name = name;
      if (fragment === "") return;
      call.json += fragment;
      emit({ type: "call.delta", index: call.ordinal, name: call.name, json: fragment });
    },
    calls: () => begun,
  };
}

/** Returns the call that a fragment continues; undefined if the fragment begins a new call. */
function continued(begun: readonly BegunCall[], wire: OpenaiCall, name: string): BegunCall | undefined {
  const candidate = typeof wire.index === "number" ? begun.findLast((call) => call.index === wire.index) : begun.at(-1);
  if (candidate === undefined || name === "") return candidate;
  // Some servers give every call the index 0; others repeat the name and the id with each fragment.
  if (wire.id) return wire.id === candidate.id ? candidate : undefined;
  if (candidate.name === "") return candidate;
  return completeInput(candidate.json, false) === undefined ? candidate : undefined;
}

function fragmentOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "object" && value !== null ? JSON.stringify(value) : "";
}

function textOfContent(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return value.map((part: { text?: unknown } | null) => (typeof part?.text === "string" ? part.text : "")).join("");
}

function mapFinishReason(reason: string | undefined): StopReason {
  return (reason === undefined ? undefined : finishReasons[reason]) ?? "end_turn";
}

const finishReasons: Readonly<Record<string, StopReason>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_calls",
  function_call: "tool_calls",
  content_filter: "refusal",
};

/** Converts the usage. The prompt's tokens include those that were read from a cache or written to one. */
function usageOf(tokens: OpenaiUsage | undefined): Usage {
  const prompt = tokens?.prompt_tokens ?? 0;
  const read = Math.min(prompt, most(cacheReads(tokens)));
  const written = Math.min(prompt - read, most(cacheWrites(tokens)));
  return {
    inputTokens: prompt - read - written,
    cacheReadTokens: read,
    cacheWriteTokens: written,
    outputTokens: tokens?.completion_tokens ?? 0,
  };
}

function most(counts: readonly (number | null | undefined)[]): number {
  return Math.max(0, ...counts.filter((count) => typeof count === "number"));
}

/**
 * Returns the number of cached tokens from all known fields: those of OpenAI, DeepSeek, Moonshot, Gemini and gateways.
 */
function cacheReads(tokens: OpenaiUsage | undefined): readonly (number | null | undefined)[] {
  return [
    tokens?.prompt_tokens_details?.cached_tokens,
    tokens?.prompt_cache_hit_tokens,
    tokens?.cached_tokens,
    tokens?.cached_content_token_count,
    tokens?.cache_read_input_tokens,
  ];
}

function cacheWrites(tokens: OpenaiUsage | undefined): readonly (number | null | undefined)[] {
  return [tokens?.prompt_tokens_details?.cache_write_tokens, tokens?.cache_creation_input_tokens];
}

interface OpenaiChunk {
  readonly choices?: readonly {
    readonly delta?: OpenaiDelta;
    readonly message?: OpenaiDelta;
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: OpenaiUsage | null;
  readonly error?: unknown;
}

interface OpenaiDelta {
  readonly content?: unknown;
  readonly refusal?: unknown;
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
  readonly tool_calls?: readonly OpenaiCall[] | null;
}

interface OpenaiUsage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly prompt_tokens_details?: {
    readonly cached_tokens?: number | null;
    readonly cache_write_tokens?: number | null;
  } | null;
  readonly prompt_cache_hit_tokens?: number | null;
  readonly cached_tokens?: number | null;
  readonly cached_content_token_count?: number | null;
  readonly cache_read_input_tokens?: number | null;
  readonly cache_creation_input_tokens?: number | null;
}

interface OpenaiCall {
  readonly index?: number | null;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown } | null;
}
