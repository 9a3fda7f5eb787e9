import { createHash } from "node:crypto";
import type { Pieces, Reply, ReplyPart, StopReason, Usage, Wire } from "../types.ts";
import { rulesOf } from "../validate/model-rules.ts";
import { type Prefix, signBlock } from "../validate/thinking-signature.ts";

/** A reply in which ids, signatures, pieces of the stream, stop reason and usage are filled in. */
export type WireMessage = {
  id: string;
  model: string;
  parts: readonly WirePart[];
  stopReason: StopReason;
  finishReason: string | undefined;
  usage: Usage;
  /** Set if the message is a summary of the conversation, which the provider counts apart from responses. */
  isSummary: boolean;
};

export type WirePart =
  | { kind: "text"; pieces: readonly string[] }
  | { kind: "thinking"; pieces: readonly string[]; signature: string }
  | { kind: "redacted"; data: string }
  | { kind: "tool"; id: string; name: string; pieces: readonly string[] }
  | { kind: "block"; block: Readonly<Record<string, unknown>> };

/** One event in a stream. Faults use `role` to find their position in either wire format. */
export type Frame = { text: string | Buffer; role?: "tool-input" | "end" | undefined };

export type MessageOptions = {
  wire: Wire;
  model: string;
  /** Text that is part of all ids, so that two different requests never get the same tool call id. */
  salt: string;
  seed: number;
  usage: Omit<WireMessage["usage"], "outputTokens">;
  /** Whether the text of thinking is left out. */
  hidesThinking: boolean;
  /** Whether a message without scripted thinking begins with an empty thinking block. */
  thinks: boolean;
  /** Whether the request asks for a summary of the conversation instead of a response. */
  summarizes: boolean;
  /** Returns the conversation that the message continues. Called only if the message contains something to sign. */
  prefix: () => Prefix;
};

export function makeWireMessage(reply: Reply, options: MessageOptions): WireMessage {
  const size = reply.pacing?.chunkCharacters ?? 24;
  const scripted = typeof reply.content === "string" ? [reply.content] : reply.content;
  const content = options.thinks && !scripted.some(isThought) ? [{ thinking: "" }, ...scripted] : scripted;
  const written = signed(
    content.map((part, index) => makePart(part, { index, size, options })),
    options,
  );
  const usesTool = written.some((part) => part.kind === "tool");
  const summary = options.summarizes ? summaryOf(written, { reply, options }) : undefined;
  const parts = options.summarizes ? (summary ?? []) : written;
  return {
    id: idPrefixes[options.wire] + idFrom(options, "message"),
    model: options.model,
    parts,
    stopReason: summary ? "compaction" : (reply.stopReason ?? (usesTool ? "tool_use" : "end_turn")),
    finishReason: reply.finishReason,
    usage: withinWritten({ ...options.usage, outputTokens: outputTokens(written), ...reply.usage }),
    isSummary: options.summarizes,
  };
}

/** Returns a block with the text of a reply. Undefined if the reply ends in another way than with text. */
function summaryOf(
  parts: readonly WirePart[],
  { reply, options }: { reply: Reply; options: MessageOptions },
): readonly WirePart[] | undefined {
  const content = parts.map((part) => (part.kind === "text" ? part.pieces.join("") : "")).join("");
  if (content === "" || reply.stopReason !== undefined || parts.some(({ kind }) => kind === "tool")) return undefined;
  const signature = signBlock(content, { binding: options.prefix().bind(options.model), seed: options.seed });
  return [{ kind: "block", block: { type: "compaction", content, signature } }];
}

const idPrefixes: Record<Wire, string> = {
  anthropic: "msg_",
  openai: "chatcmpl-",
  responses: "resp_",
  gemini: "",
};

function isThought(part: ReplyPart): boolean {
  return typeof part !== "string" && ("thinking" in part || "redactedThinking" in part);
}

function withinWritten(usage: Usage): Usage {
  return { ...usage, cacheWrite1hTokens: Math.min(usage.cacheWrite1hTokens, usage.cacheWriteTokens) };
}

type UnsignedPart = Exclude<WirePart, { kind: "thinking" }> | UnsignedThinking;
type UnsignedThinking = { kind: "thinking"; pieces: readonly string[]; signature: string | undefined };

/** Signs the thinking for which the script supplies no signature. */
function signed(parts: readonly UnsignedPart[], { prefix: prefixOf, model, seed }: MessageOptions): WirePart[] {
  const { bindsThinking = false } = rulesOf(model);
  const isUnsigned = (part: UnsignedPart) =>
    part.kind === "redacted" ? bindsThinking : part.kind === "thinking" && part.signature === undefined;
  // Finding the conversation requires parsing the request's body.
  if (!parts.some(isUnsigned)) return parts as WirePart[];
  const prefix = prefixOf();
  prefix.begin("assistant");
  return parts.map((part): WirePart => {
    if (part.kind !== "thinking" && part.kind !== "redacted") {
      prefix.add(blockOf(part));
      return part;
    }
    const text = part.kind === "redacted" ? part.data : part.pieces.join("");
    const computed = signBlock(text, { binding: prefix.bind(model), seed });
    const signature = part.kind === "thinking" ? (part.signature ?? computed) : computed;
    prefix.think(signature);
    if (part.kind === "thinking") return { ...part, signature };
    return bindsThinking ? { ...part, data: `${part.data}.${signature}` } : part;
  });
}

/** Returns a part as the content block that a client sends back. */
export function blockOf(part: WirePart): Readonly<Record<string, unknown>> {
  switch (part.kind) {
    case "text":
      return { type: "text", text: part.pieces.join("") };
    case "thinking":
      return { type: "thinking", thinking: part.pieces.join(""), signature: part.signature };
    case "redacted":
      return { type: "redacted_thinking", data: part.data };
    case "tool":
      return { type: "tool_use", id: part.id, name: part.name, input: parsedInput(part.pieces.join("")) };
    case "block":
      return part.block;
  }
}

/** Returns the input of a call. Scripted text that is not JSON becomes {}. */
function parsedInput(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}

function cutIntoPieces(text: Pieces, size: number): readonly string[] {
  if (typeof text !== "string") return text;
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + size, text.length);
    if (end < text.length && isHighSurrogate(text, end - 1) && !isHighSurrogate(text, end)) end += 1;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

function makePart(part: ReplyPart, { index, size, options }: { index: number; size: number; options: MessageOptions }) {
  if (typeof part === "string") return { kind: "text" as const, pieces: cutIntoPieces(part, size) };
  if ("text" in part) return { kind: "text" as const, pieces: cutIntoPieces(part.text, size) };
  if ("redactedThinking" in part) {
    // In the Responses API and the Gemini API, all reasoning is encrypted. There, this is reasoning without a summary.
    if (options.wire === "responses" || options.wire === "gemini")
      return { kind: "thinking" as const, pieces: [], signature: undefined };
    return { kind: "redacted" as const, data: part.redactedThinking };
  }
  if ("block" in part) return { kind: "block" as const, block: part.block };
  if ("thinking" in part) {
    const pieces = options.hidesThinking ? [] : cutIntoPieces(part.thinking, size);
    return { kind: "thinking" as const, pieces, signature: part.signature };
  }
  const prefix = options.wire === "anthropic" ? "toolu_" : "call_";
  const inputJson = part.inputJson ?? JSON.stringify(part.input ?? {});
  return {
    kind: "tool" as const,
    id: part.id ?? prefix + idFrom(options, index),
    name: part.tool,
    pieces: cutIntoPieces(inputJson, size),
  };
}

function idFrom(options: MessageOptions, what: string | number): string {
  const hash = createHash("sha256").update(`${options.seed} ${options.salt} ${what}`).digest("hex");
  return `01${hash.slice(0, 22)}`;
}

function outputTokens(parts: readonly WirePart[]): number {
  let bytes = 0;
  for (const part of parts) {
    if ("pieces" in part) for (const piece of part.pieces) bytes += Buffer.byteLength(piece);
    if (part.kind === "tool") bytes += Buffer.byteLength(part.name);
    if (part.kind === "redacted") bytes += Buffer.byteLength(part.data);
    if (part.kind === "block") bytes += Buffer.byteLength(JSON.stringify(part.block));
  }
  return Math.max(1, Math.ceil(bytes / 4));
}

function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit < 0xdc00;
}
