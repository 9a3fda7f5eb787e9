import type { ModelProgress } from "../ports/index.ts";
import type { AssistantBlock, CallId, ModelOutcome, Origin, StopReason } from "../protocol/index.ts";
import type { AiSdkModel, AiSdkStream, PromptPart, ProviderData, StreamPart } from "./ai-sdk-types.ts";
import { keep } from "./kept.ts";
import { usageOf } from "./usage.ts";
import { warningText } from "./warning-text.ts";

export interface ReadOptions {
  readonly model: Pick<AiSdkModel, "provider" | "modelId">;
  readonly origin: Origin;
  readonly callId: (index: number) => CallId;
  readonly emit: (progress: ModelProgress) => void;
}

/** Reads a response. Throws the error that the stream reports, or a connection error if the stream ends early. */
export async function readStream(
  stream: AiSdkStream,
  signal: AbortSignal,
  options: ReadOptions,
): Promise<Extract<ModelOutcome, { ok: true }>> {
  const reader = stream.getReader();
  const answer = createAnswer(options);
  try {
    for (;;) {
      const { done, value } = await orAbort(reader.read(), signal);
      if (done) return answer.finished();
      answer.take(value as StreamPart);
    }
  } finally {
    // Does nothing after the end. A stream that can't be cancelled is left alone.
    reader.cancel().catch(() => undefined);
  }
}

/** Returns the result of a promise, or rejects when the signal fires: not every provider listens to it. */
export async function orAbort<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** A block that is being written. */
interface OpenBlock {
  readonly kind: "text" | "thinking" | "call" | "kept";
  /** Text, or JSON of the input. */
  text: string;
  data?: ProviderData | undefined;
  readonly block?: AssistantBlock;
  /** Number of the call, its name, and the provider's id for it. */
  readonly index?: number;
  readonly name?: string;
  readonly toolCallId?: string;
  isComplete?: boolean;
}

function createAnswer({ model, origin, callId, emit }: ReadOptions) {
  const blocks: OpenBlock[] = [];
  const byId = new Map<string, OpenBlock>();
  let calls = 0;
  let finish: StreamPart | undefined;
  let trouble: { readonly error: unknown } | undefined;

  function begin(key: string, block: OpenBlock): OpenBlock {
    blocks.push(block);
    byId.set(key, block);
    return block;
  }

  function grow(kind: "text" | "thinking", { type, id = "", delta = "", providerMetadata }: StreamPart): void {
    const key = `${kind} ${id}`;
    const isNew = type.endsWith("-start") || !byId.has(key);
    const block = (isNew ? undefined : byId.get(key)) ?? begin(key, { kind, text: "" });
    block.text += delta;
    block.data = providerMetadata ?? block.data;
    if (delta !== "") emit({ type: `${kind}.delta`, text: delta });
  }

  function growCall(id: string, { delta = "", toolName = "", providerMetadata }: StreamPart): OpenBlock {
    const key = `call ${id}`;
    const known = byId.get(key);
    const call = known ?? begin(key, { kind: "call", text: "", index: calls, name: toolName, toolCallId: id });
    if (known === undefined) calls += 1;
    call.text += delta;
    call.data = providerMetadata ?? call.data;
    const { index = 0, name = "" } = call;
    if (known === undefined || delta !== "") emit({ type: "call.delta", index, name, json: delta });
    return call;
  }

  function endCall({ toolCallId = "", input, ...part }: StreamPart): void {
    const json = typeof input === "string" ? input : JSON.stringify(input ?? {});
    const isKnown = byId.has(`call ${toolCallId}`);
    const call = growCall(toolCallId, isKnown ? part : { ...part, delta: json });
    call.text = json;
    call.isComplete = true;
  }

  /** Keeps a part that only the provider understands, so that it is sent back. */
  function keepPart(
    part: PromptPart,
    { providerMetadata }: Pick<StreamPart, "providerMetadata">,
    mayBeSigned = false,
  ): void {
    const kept = { ...part, providerOptions: providerMetadata };
    const block = keep({ type: mayBeSigned ? "reasoning" : "part", part: kept }, origin);
    blocks.push({ kind: "kept", text: "", block });
  }

  function keepFile({ type, mediaType, data, ...part }: StreamPart): void {
    emit({ type: "notice", message: `${model.modelId} wrote a file (${mediaType}), which is not shown.` });
    keepPart({ type, mediaType, data: storable(data) }, part, type !== "file");
  }

  const text = (part: StreamPart): void => grow("text", part);
  const reasoning = (part: StreamPart): void => grow("thinking", part);
  const toolInput = (part: StreamPart): void => {
    if (byId.has(`call ${part.id}`)) growCall(part.id ?? "", part);
  };
  /** Sources, metadata, raw chunks, pings and parts that later versions add are ignored. */
  const takers: Readonly<Record<string, (part: StreamPart) => void>> = {
    "text-start": text,
    "text-delta": text,
    "text-end": text,
    "reasoning-start": reasoning,
    "reasoning-delta": reasoning,
    "reasoning-end": reasoning,
    "tool-input-start": (part) => {
      if (!part.providerExecuted) growCall(part.id ?? "", part);
    },
    "tool-input-delta": toolInput,
    "tool-input-end": toolInput,
    "tool-call": (part) => (part.providerExecuted ? keepPart(executedCall(part), part) : endCall(part)),
    "tool-result": (part) => {
      if (!part.preliminary) keepPart(executedResult(part), part);
    },
    file: keepFile,
    "reasoning-file": keepFile,
    custom: (part) => keepPart({ type: "custom", kind: part.kind }, part, true),
    "tool-approval-request": ({ approvalId = "" }) => {
      emit({ type: "notice", message: `${model.provider} asked to execute a call itself, which was denied.` });
      blocks.push({ kind: "kept", text: "", block: keep({ type: "approval", approvalId }, origin) });
    },
    "stream-start": ({ warnings = [] }) => {
      for (const warning of warnings) emit({ type: "notice", message: warningText(warning, model) });
    },
    finish: (part) => {
      finish = part;
    },
    error: ({ error }) => {
      // A stream may continue after an event that the provider's package does not know.
      if ((error as { name?: unknown } | undefined)?.name !== "AI_TypeValidationError") throw error;
      trouble ??= { error };
    },
  };

  function finished(): Extract<ModelOutcome, { ok: true }> {
    const { finishReason, usage, providerMetadata } = finish ?? {};
    const { unified, raw } =
      typeof finishReason === "object" ? finishReason : { unified: finishReason, raw: undefined };
    const tokens = usageOf(usage, { provider: model.provider, providerMetadata });
    const isKnown = unified !== "unknown" && (unified !== "other" || raw !== undefined);
    const isWhole = finish !== undefined && unified !== "interrupted" && (isKnown || tokens.outputTokens > 0);
    if (unified === "error" || !isWhole) throw trouble ? trouble.error : endedEarly();
    const content = blocks.flatMap(written);
    const calling = content.some(({ type }) => type === "tool_call");
    const reason = stopReasonOf(unified, raw);
    return {
      ok: true,
      message: { role: "assistant", content },
      stopReason: reason === "end_turn" && calling ? "tool_calls" : reason,
      usage: tokens,
      incompleteCalls: blocks.filter(({ kind, isComplete }) => kind === "call" && !isComplete).length,
    };
  }

  function written({ kind, data, block, toolCallId, ...open }: OpenBlock): readonly AssistantBlock[] {
    const text = open.text.replace(/\p{Surrogate}/gu, "\ufffd");
    if (block) return [block];
    if (kind === "thinking") {
      const signature = data && JSON.stringify(data);
      return text === "" && !signature ? [] : [{ type: "thinking", text, signature, origin }];
    }
    if (kind === "call" && !open.isComplete) return [];
    const { index = 0, name = "" } = open;
    const own: AssistantBlock =
      kind === "text" ? { type: "text", text } : { type: "tool_call", callId: callId(index), name, inputJson: text };
    if (kind === "text" && text === "") return [];
    return data ? [keep({ type: "reasoning", next: data, toolCallId }, origin), own] : [own];
  }

  return { take: (part: StreamPart) => takers[part.type]?.(part), finished };
}

function executedCall({ toolCallId, toolName, input, dynamic }: StreamPart): PromptPart {
  const value: unknown = typeof input === "string" ? JSON.parse(input || "{}") : input;
  return { type: "tool-call", toolCallId, toolName, input: value, providerExecuted: true, dynamic };
}

function executedResult({ toolCallId, toolName, result, isError, dynamic }: StreamPart): PromptPart {
  const kind = typeof result === "string" ? "text" : "json";
  const output = { type: isError ? `error-${kind}` : kind, value: result };
  return { type: "tool-result", toolCallId, toolName, output, dynamic };
}

/** Returns data as JSON can store it: bytes in base64. */
function storable(data: unknown): unknown {
  if (data instanceof Uint8Array) return Buffer.from(data).toString("base64");
  const { type, data: inner } = (data ?? {}) as { readonly type?: unknown; readonly data?: unknown };
  return type === "data" ? { type, data: storable(inner) } : data;
}

function stopReasonOf(unified: string | undefined, raw: string | undefined): StopReason {
  if (raw === "pause_turn") return "pause";
  if (raw === "stop_sequence") return "stop_sequence";
  return (unified === undefined ? undefined : stopReasons[unified]) ?? "end_turn";
}

const stopReasons: Readonly<Record<string, StopReason>> = {
  length: "max_tokens",
  "content-filter": "refusal",
  "tool-calls": "tool_calls",
};

function endedEarly(): Error {
  return Object.assign(new Error("The response ended early."), { code: "ECONNRESET" });
}
