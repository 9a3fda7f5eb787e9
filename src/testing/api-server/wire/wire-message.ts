import { createHash, createHmac } from "node:crypto";
import type { Pieces, Reply, ReplyPart, StopReason, Usage, Wire } from "../types.ts";

/** A reply in which ids, signatures, pieces of the stream, stop reason and usage are filled in. */
export type WireMessage = {
  id: string;
  model: string;
  parts: readonly WirePart[];
  stopReason: StopReason;
  usage: Usage;
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
};

export function makeWireMessage(reply: Reply, options: MessageOptions): WireMessage {
  const size = reply.pacing?.chunkCharacters ?? 24;
  const content = typeof reply.content === "string" ? [reply.content] : reply.content;
  const parts = content.map((part, index) => makePart(part, { index, size, options }));
  const usesTool = parts.some((part) => part.kind === "tool");
  return {
    id: (options.wire === "anthropic" ? "msg_" : "chatcmpl-") + idFrom(options, "message"),
    model: options.model,
    parts,
    stopReason: reply.stopReason ?? (usesTool ? "tool_use" : "end_turn"),
    usage: withinWritten({ ...options.usage, outputTokens: outputTokens(parts), ...reply.usage }),
  };
}

function withinWritten(usage: Usage): Usage {
  return { ...usage, cacheWrite1hTokens: Math.min(usage.cacheWrite1hTokens, usage.cacheWriteTokens) };
}

export function signThinking(seed: number, text: string): string {
  return createHmac("sha256", `thinking ${seed}`).update(text).digest("base64");
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
  if ("redactedThinking" in part) return { kind: "redacted" as const, data: part.redactedThinking };
  if ("block" in part) return { kind: "block" as const, block: part.block };
  if ("thinking" in part) {
    const pieces = cutIntoPieces(part.thinking, size);
    const signature = part.signature ?? signThinking(options.seed, pieces.join(""));
    return { kind: "thinking" as const, pieces, signature };
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
