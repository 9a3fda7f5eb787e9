import {
  type AssistantBlock,
  addUsage,
  type CacheLifetime,
  type InputTransformation,
  type StopReason,
  type Usage,
} from "../../protocol/index.ts";
import {
  type AnswerReader,
  completeInput,
  createPairKeeper,
  type ProviderError,
  parseObject,
  type ReaderOptions,
  wellFormed,
} from "../answer.ts";
import { rawMember } from "../raw-member.ts";

/** Reads the Messages dialect. Only `message_stop` completes a response. */
export function createAnthropicReader({ origin, callId, emit, cacheLifetime }: ReaderOptions): AnswerReader {
  const blocks: OpenBlock[] = [];
  const byIndex = new Map<number, OpenBlock>();
  const tokens: AnthropicUsage = {};
  let started = false;
  let stopped = false;
  let calls = 0;
  let stopReason: string | undefined;
  let transformations: readonly InputTransformation[] | undefined;
  let error: ProviderError | undefined;

  function begin(index: number, start: AnthropicBlock, raw: string): void {
    if (byIndex.has(index)) return;
    const block = openBlock(start, { raw, call: start.type === "tool_use" ? calls++ : -1 });
    byIndex.set(index, block);
    blocks.push(block);
    if (block.kind === "text") show(block, block.text);
    if (block.kind === "call") emit({ type: "call.delta", index: block.call, name: block.name, json: "" });
  }

  function show(block: OpenBlock, text: string): void {
    const whole = block.keep(text);
    if (whole === "") return;
    emit(block.kind === "text" ? { type: "text.delta", text: whole } : { type: "thinking.delta", text: whole });
  }

  function grow(block: OpenBlock | undefined, delta: AnthropicDelta): void {
    if (block === undefined || block.closed) return;
    if (delta.type === "text_delta" && block.kind === "text") {
      block.text += delta.text ?? "";
      show(block, delta.text ?? "");
    } else if (delta.type === "thinking_delta" && block.kind === "thinking") {
      block.text += delta.thinking ?? "";
      show(block, delta.thinking ?? "");
    } else if (delta.type === "signature_delta" && block.kind === "thinking") {
      block.signature += delta.signature ?? "";
    } else if (delta.type === "input_json_delta" && (block.kind === "call" || block.kind === "opaque")) {
      block.json += delta.partial_json ?? "";
      if (block.kind !== "call") return;
      emit({ type: "call.delta", index: block.call, name: block.name, json: delta.partial_json ?? "" });
    } else if (block.kind === "opaque" && delta.type === "compaction_delta") {
      const { type: _, ...fields } = delta;
      block.fields = { ...block.fields, ...fields };
    } else if (block.kind === "opaque") {
      block.spoilt = true;
    }
  }

  function finished(): { content: AssistantBlock[]; incompleteCalls: number } {
    const content: AssistantBlock[] = [];
    let incompleteCalls = 0;
    for (const block of blocks) {
      if (block.kind === "text") {
        if (block.text !== "") content.push({ type: "text", text: wellFormed(block.text) });
      } else if (block.kind === "thinking") {
        const signature = block.signature === "" ? {} : { signature: block.signature };
        content.push({ type: "thinking", text: block.text, ...signature, origin });
      } else if (block.kind === "opaque") {
        const json = opaqueJson(block);
        if (json !== undefined) content.push({ type: "opaque", json, origin });
      } else {
        // A token limit can cut off a call before its first character, which must not look like "no arguments".
        const cut = mapStopReason(stopReason) === "max_tokens" && block === blocks.at(-1);
        const inputJson = block.closed ? completeInput(block.json, !cut) : undefined;
        if (inputJson === undefined || block.name === "") incompleteCalls += 1;
        else content.push({ type: "tool_call", callId: callId(block.call), name: block.name, inputJson });
      }
    }
    return { content, incompleteCalls };
  }

  function take(event: AnthropicEvent, data: string): string | undefined {
    switch (event.type) {
      case "message_start":
        if (!started) mergeUsage(tokens, event.message?.usage);
        if (!started) transformations = transformationsIn(event.message?.input_transformations);
        started = true;
        return undefined;
      case "content_block_start":
        if (!event.content_block) return "a content_block_start event has no content_block";
        begin(event.index ?? blocks.length, event.content_block, data);
        return undefined;
      case "content_block_delta":
        if (event.delta) grow(byIndex.get(event.index ?? -1), event.delta);
        return undefined;
      case "content_block_stop": {
        const block = byIndex.get(event.index ?? -1);
        if (block) block.closed = true;
        return undefined;
      }
      case "message_delta":
        if (event.delta?.stop_reason) stopReason = event.delta.stop_reason;
        mergeUsage(tokens, event.usage);
        return undefined;
      case "message_stop":
        if (!started) return "message_stop came before message_start";
        stopped = true;
        return undefined;
      case "error":
        error = { type: String(event.error?.type ?? "error"), message: String(event.error?.message ?? "") };
        return undefined;
      default:
        return undefined;
    }
  }

  return {
    event(data) {
      if (stopped) return undefined;
      const event = parseObject(data);
      return event === undefined ? "an event in the stream is not JSON" : take(event as AnthropicEvent, data);
    },
    whole(body) {
      const message = body as AnthropicMessage & AnthropicEvent;
      if (message.type === "error") return take(message, "");
      if (!Array.isArray(message.content) || !message.stop_reason) return "the response is not a complete message";
      started = true;
      for (const [index, block] of message.content.entries()) {
        const text = JSON.stringify({ content_block: block });
        begin(index, block, text);
        const made = byIndex.get(index);
        if (made?.kind === "thinking") show(made, made.text);
        if (made) made.closed = true;
      }
      stopReason = message.stop_reason;
      mergeUsage(tokens, message.usage);
      transformations = transformationsIn(message.input_transformations);
      stopped = true;
      return undefined;
    },
    ended: () => stopped,
    closed: () => {},
    providerError: () => error,
    answer() {
      const { content, incompleteCalls } = finished();
      const reason = mapStopReason(stopReason);
      const calling = content.some((block) => block.type === "tool_call");
      return {
        ok: true,
        message: { role: "assistant", content },
        stopReason: reason === "end_turn" && calling ? "tool_calls" : reason,
        usage: usageOf(tokens, cacheLifetime),
        incompleteCalls,
        inputTransformations: transformations,
      };
    },
    partial: () => finished().content.filter((block) => block.type === "text" || block.type === "thinking"),
    usage: () => (started ? usageOf(tokens, cacheLifetime) : undefined),
  };
}

interface OpenBlock {
  readonly kind: "text" | "thinking" | "call" | "opaque";
  readonly keep: (text: string) => string;
  readonly call: number;
  readonly name: string;
  /** JSON of the event that started an opaque block. */
  readonly raw: string;
  text: string;
  signature: string;
  json: string;
  /** Fields of an opaque block that arrived after its start. */
  fields: object | undefined;
  closed: boolean;
  /** True if the block grew in an unknown way, so that the content read so far is incomplete. */
  spoilt: boolean;
}

function openBlock(start: AnthropicBlock, { raw, call }: { raw: string; call: number }): OpenBlock {
  const kind = kinds[start.type ?? ""] ?? "opaque";
  return {
    kind,
    keep: createPairKeeper(),
    call,
    name: start.name ?? "",
    raw: kind === "opaque" ? raw : "",
    text: (kind === "text" ? start.text : kind === "thinking" ? start.thinking : "") ?? "",
    signature: start.signature ?? "",
    json: kind === "call" ? startingInput(start, raw) : "",
    fields: undefined,
    closed: false,
    spoilt: false,
  };
}

const kinds: Readonly<Record<string, OpenBlock["kind"]>> = { text: "text", thinking: "thinking", tool_use: "call" };

/**
 * Returns the input in the start event, in which some compatible servers send the whole input instead of `{}` and
 * deltas.
 */
function startingInput(start: AnthropicBlock, raw: string): string {
  if (start.input === undefined || start.input === null || Object.keys(start.input).length === 0) return "";
  const block = rawMember(raw, "content_block");
  return (block === undefined ? undefined : rawMember(block, "input")) ?? "";
}

function opaqueJson(block: OpenBlock): string | undefined {
  if (!block.closed || block.spoilt) return undefined;
  const json = rawMember(block.raw, "content_block");
  if (json !== undefined && block.fields) return JSON.stringify({ ...JSON.parse(json), ...block.fields });
  if (json === undefined || block.json === "") return json;
  const { input: _, ...rest } = JSON.parse(json) as Record<string, unknown>;
  const input = completeInput(block.json, false);
  return input === undefined ? undefined : `${JSON.stringify(rest).slice(0, -1)},"input":${input}}`;
}

function mapStopReason(reason: string | undefined): StopReason {
  return (reason === undefined ? undefined : stopReasons[reason]) ?? "end_turn";
}

const stopReasons: Readonly<Record<string, StopReason>> = {
  end_turn: "end_turn",
  tool_use: "tool_calls",
  max_tokens: "max_tokens",
  model_context_window_exceeded: "max_tokens",
  stop_sequence: "stop_sequence",
  refusal: "refusal",
  pause_turn: "pause",
  compaction: "end_turn",
};

function transformationsIn(value: unknown): readonly InputTransformation[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const text = (field: unknown): string | undefined => (typeof field === "string" ? field : undefined);
  return value.map((each) => {
    const { type, path, reason } = { ...each };
    return { type: text(type) ?? "unknown", path: text(path), reason: text(reason) };
  });
}

function mergeUsage(into: AnthropicUsage, from: AnthropicUsage | null | undefined): void {
  if (!from) return;
  for (const field of usageFields) if (typeof from[field] === "number") into[field] = from[field];
  if (from.cache_creation) into.cache_creation = from.cache_creation;
  if (from.iterations) into.iterations = from.iterations;
}

const usageFields = [
  "input_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  "output_tokens",
] as const satisfies readonly (keyof AnthropicUsage)[];

function usageOf({ iterations, ...tokens }: AnthropicUsage, lifetime: CacheLifetime | undefined): Usage {
  // Summaries are not part of the other counts.
  const summaries = Array.isArray(iterations) ? iterations.filter(({ type }) => type === "compaction") : [];
  return [tokens, ...summaries].map((each) => countedTokens(each, lifetime)).reduce(addUsage);
}

function countedTokens(tokens: AnthropicUsage, lifetime: CacheLifetime | undefined): Usage {
  const written = tokens.cache_creation_input_tokens ?? 0;
  const told = tokens.cache_creation?.ephemeral_1h_input_tokens;
  // A server that does not report the lifetime is assumed to have used the requested one.
  const hour = typeof told === "number" ? told : lifetime === "1h" ? written : 0;
  return {
    inputTokens: tokens.input_tokens ?? 0,
    cacheReadTokens: tokens.cache_read_input_tokens ?? 0,
    cacheWriteTokens: written,
    ...(hour > 0 ? { cacheWrite1hTokens: Math.min(hour, written) } : {}),
    outputTokens: tokens.output_tokens ?? 0,
  };
}

/** The fields of the Messages dialect that are read. Any field may be missing, whatever the documentation says. */
interface AnthropicEvent {
  readonly type?: string;
  readonly index?: number;
  readonly message?: { readonly usage?: AnthropicUsage; readonly input_transformations?: unknown };
  readonly content_block?: AnthropicBlock;
  readonly delta?: AnthropicDelta;
  readonly usage?: AnthropicUsage;
  readonly error?: { readonly type?: unknown; readonly message?: unknown };
}

interface AnthropicMessage {
  readonly content?: readonly AnthropicBlock[];
  readonly stop_reason?: string;
  readonly usage?: AnthropicUsage;
  readonly input_transformations?: unknown;
}

interface AnthropicBlock {
  readonly type?: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly name?: string;
  readonly input?: object | null;
}

interface AnthropicDelta {
  readonly type?: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly partial_json?: string;
  readonly stop_reason?: string | null;
}

interface AnthropicUsage {
  input_tokens?: number;
  cache_creation_input_tokens?: number;
  /** Tokens written to the cache, by cache lifetime. Some gateways omit this field. */
  cache_creation?: { readonly ephemeral_5m_input_tokens?: number; readonly ephemeral_1h_input_tokens?: number } | null;
  cache_read_input_tokens?: number;
  output_tokens?: number;
  /** What the request consisted of, in order. */
  iterations?: readonly (AnthropicUsage & { readonly type?: string })[] | null;
}
