import type { AssistantBlock, StopReason, TextBlock, Usage } from "../../protocol/index.ts";
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
import { rawMember } from "../raw-member.ts";

/**
 * Reads the dialect of OpenAI's Responses API. Only `response.completed` and `response.incomplete` complete a response.
 * What an item finally contains is taken from its `output_item.done` event; deltas are only shown.
 */
export function createResponsesReader({ origin, callId, emit }: ReaderOptions): AnswerReader {
  const items = new Map<number, OpenItem>();
  let calls = 0;
  let end: ResponsesAnswer | undefined;
  let error: ProviderError | undefined;

  function begin(index: number, wire: ResponsesItem): OpenItem {
    const kind = kinds[wire.type ?? ""] ?? "other";
    const call = kind === "call" ? calls++ : -1;
    const item: OpenItem = { kind, call, name: wire.name ?? "", keep: createPairKeeper(), text: "", isWhole: false };
    items.set(index, item);
    if (kind === "call") emit({ type: "call.delta", index: call, name: item.name, json: "" });
    return item;
  }

  function grow(index: number | undefined, kind: OpenItem["kind"], delta: unknown): void {
    const item = items.get(index ?? -1);
    if (item?.kind !== kind || item.isWhole || typeof delta !== "string") return;
    item.text += delta;
    const text = kind === "call" ? delta : item.keep(delta);
    if (text === "") return;
    if (kind === "call") emit({ type: "call.delta", index: item.call, name: item.name, json: text });
    else emit({ type: kind === "text" ? "text.delta" : "thinking.delta", text });
  }

  function finish(index: number, wire: ResponsesItem, json: string | undefined): void {
    const item = items.get(index) ?? begin(index, wire);
    if (item.isWhole || item.kind === "other") return;
    const { phase } = wire;
    const text = textOf(wire, item.kind);
    if (item.text === "") grow(index, item.kind, text);
    item.text = text ?? item.text;
    item.isWhole = wire.status !== "incomplete" || item.kind !== "call";
    item.isRefusal = wire.content?.some((part) => typeof part.refusal === "string");
    if (phase === "commentary" || phase === "final_answer") item.phase = phase;
    // Without its encrypted content, the provider does not recognize an item that it has not stored.
    if (typeof wire.encrypted_content === "string") item.json = json;
  }

  function close(response: ResponsesAnswer): string | undefined {
    if (response.status !== "completed" && response.status !== "incomplete") {
      error = providerErrorOf(response.error ?? { message: `The response ended as ${response.status ?? "unknown"}.` });
    }
    for (const [index, item] of (response.output ?? []).entries()) finish(index, item, JSON.stringify(item));
    end = response;
    return undefined;
  }

  function take(event: ResponsesEvent, data: string): string | undefined {
    const { output_index: index, delta, item, response } = event;
    switch (event.type) {
      case "response.output_item.added":
        if (item && index !== undefined && !items.has(index)) begin(index, item);
        return undefined;
      case "response.output_text.delta":
      case "response.refusal.delta":
        grow(index, "text", delta);
        return undefined;
      case "response.reasoning_summary_part.added":
        if ((event.summary_index ?? 0) > 0) grow(index, "reasoning", BETWEEN_PARTS);
        return undefined;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        grow(index, "reasoning", delta);
        return undefined;
      case "response.function_call_arguments.delta":
        grow(index, "call", delta);
        return undefined;
      case "response.output_item.done":
        if (!item || index === undefined) return "an output_item event has no item";
        finish(index, item, rawMember(data, "item"));
        return undefined;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        return response ? close(response) : `a ${event.type} event has no response`;
      case "error":
        error = providerErrorOf(event.error ?? event);
        return undefined;
      default:
        return undefined;
    }
  }

  const inOrder = () => [...items].sort(([left], [right]) => left - right).map(([, item]) => item);

  /** Returns undefined for an empty message and an incomplete call. */
  function blockOf({ kind, text, phase, isWhole, call, name }: OpenItem): AssistantBlock | undefined {
    if (kind === "text" && text !== "") return { type: "text", text: wellFormed(text), ...(phase && { phase }) };
    if (kind !== "call" || !isWhole || name === "") return undefined;
    const inputJson = completeInput(text, true);
    return inputJson === undefined ? undefined : { type: "tool_call", callId: callId(call), name, inputJson };
  }

  function finished(): { content: AssistantBlock[]; incompleteCalls: number } {
    const content: AssistantBlock[] = [];
    let incompleteCalls = 0;
    /** Reasoning that has not been followed by an item yet. It is sent back only with the item it was written for. */
    let reasoning: AssistantBlock[] = [];
    for (const item of inOrder()) {
      if (item.kind === "reasoning") {
        if (item.text !== "") content.push({ type: "thinking", text: wellFormed(item.text), origin });
        if (item.json !== undefined && incompleteCalls === 0) {
          reasoning.push({ type: "opaque", json: item.json, origin });
        }
        continue;
      }
      const block = blockOf(item);
      if (block) content.push(...reasoning, block);
      else if (item.kind === "call") incompleteCalls += 1;
      reasoning = block || item.kind === "call" ? [] : reasoning;
    }
    return { content, incompleteCalls };
  }

  return {
    event(data) {
      if (end || data.trim() === "[DONE]") return undefined;
      const event = parseObject(data);
      return event === undefined ? "an event in the stream is not JSON" : take(event as ResponsesEvent, data);
    },
    whole(body) {
      const response = body as ResponsesAnswer;
      if (response.status !== undefined) return close(response);
      if (!response.error) return "the response is not a complete message";
      error = providerErrorOf(response.error);
      return undefined;
    },
    ended: () => end !== undefined,
    closed: () => {},
    providerError: () => error,
    answer() {
      const { content, incompleteCalls } = finished();
      const isRefusal = inOrder().some((item) => item.isRefusal);
      const reason = isRefusal ? "refusal" : incompleteReasons[end?.incomplete_details?.reason ?? ""];
      const isCalling = content.some((block) => block.type === "tool_call");
      const stopReason = reason ?? (isCalling ? "tool_calls" : "end_turn");
      const message = { role: "assistant" as const, content };
      return { ok: true, message, stopReason, usage: usageOf(end?.usage), incompleteCalls };
    },
    partial: () => finished().content.filter((block) => block.type === "text" || block.type === "thinking"),
    usage: () => (end?.usage ? usageOf(end.usage) : undefined),
  };
}

const BETWEEN_PARTS = "\n\n";

const kinds: Readonly<Record<string, OpenItem["kind"]>> = {
  message: "text",
  reasoning: "reasoning",
  function_call: "call",
};

const incompleteReasons: Readonly<Record<string, StopReason>> = {
  max_output_tokens: "max_tokens",
  content_filter: "refusal",
};

/** An output item. Other items than those that Retinue asks for are ignored. */
interface OpenItem {
  readonly kind: "text" | "reasoning" | "call" | "other";
  readonly call: number;
  readonly name: string;
  readonly keep: (text: string) => string;
  /** Text of a message, summary of reasoning or input of a call, as far as it is known. */
  text: string;
  isWhole: boolean;
  isRefusal?: boolean | undefined;
  phase?: TextBlock["phase"];
  /** JSON of a reasoning item that can be sent back. */
  json?: string | undefined;
}

function textOf({ content, summary, arguments: json }: ResponsesItem, kind: OpenItem["kind"]): string | undefined {
  if (kind === "call") return json;
  const parts = content?.map((part) => part.text ?? part.refusal ?? "");
  return kind === "text"
    ? parts?.join("")
    : summary?.map((part) => part.text ?? "").join(BETWEEN_PARTS) || parts?.join("");
}

/** Converts the usage. The input tokens include those that were read from a cache or written to one. */
function usageOf(tokens: ResponsesUsage | undefined | null): Usage {
  const { cached_tokens, cache_write_tokens } = tokens?.input_tokens_details ?? {};
  const input = tokens?.input_tokens ?? 0;
  const read = Math.min(input, cached_tokens ?? 0);
  const written = Math.min(input - read, cache_write_tokens ?? 0);
  return {
    inputTokens: input - read - written,
    cacheReadTokens: read,
    cacheWriteTokens: written,
    outputTokens: tokens?.output_tokens ?? 0,
  };
}

/** The fields of the Responses dialect that are read. Any field may be missing, whatever the documentation says. */
interface ResponsesEvent {
  readonly type?: string;
  readonly output_index?: number;
  readonly summary_index?: number;
  readonly delta?: unknown;
  readonly item?: ResponsesItem;
  readonly response?: ResponsesAnswer;
  readonly error?: unknown;
}

interface ResponsesAnswer {
  readonly status?: string;
  readonly output?: readonly ResponsesItem[];
  readonly error?: unknown;
  readonly incomplete_details?: { readonly reason?: string } | null;
  readonly usage?: ResponsesUsage | null;
}

interface ResponsesItem {
  readonly type?: string;
  readonly status?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly phase?: string | null;
  readonly content?: readonly { readonly text?: string; readonly refusal?: string }[] | null;
  readonly summary?: readonly { readonly text?: string }[] | null;
  readonly encrypted_content?: string | null;
}

interface ResponsesUsage {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly input_tokens_details?: {
    readonly cached_tokens?: number | null;
    readonly cache_write_tokens?: number | null;
  } | null;
}
