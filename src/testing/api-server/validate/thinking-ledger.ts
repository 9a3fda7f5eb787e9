import { isObject, type JsonObject } from "../json-values.ts";
import type { WireMessage } from "../wire/wire-message.ts";
import { signThinking } from "../wire/wire-message.ts";

/** Remembers which thinking went out, with which signature and before which tool calls. */
export type ThinkingLedger = {
  remember(message: WireMessage): void;
  /** Whether this server could have sent this thinking or redacted_thinking block, unchanged. */
  isGenuine(block: JsonObject): boolean;
  /** The thinking blocks that went out in one message with this tool call. */
  sentWith(toolCallId: string): readonly JsonObject[];
};

export function createThinkingLedger(seed: number): ThinkingLedger {
  const textBySignature = new Map<string, string>();
  const redacted = new Set<string>();
  const byToolCall = new Map<string, readonly JsonObject[]>();
  return {
    remember(message) {
      const blocks = message.parts.flatMap(thinkingBlocks);
      if (blocks.length === 0) return;
      for (const part of message.parts) {
        if (part.kind === "thinking") textBySignature.set(part.signature, part.pieces.join(""));
        if (part.kind === "redacted") redacted.add(part.data);
        if (part.kind === "tool") byToolCall.set(part.id, blocks);
      }
    },
    isGenuine(block) {
      if (block["type"] === "redacted_thinking") return redacted.has(String(block["data"]));
      const { thinking, signature } = block;
      if (typeof thinking !== "string" || typeof signature !== "string") return false;
      // A server that was restarted in the middle of a session still knows its computed signatures.
      return textBySignature.get(signature) === thinking || signThinking(seed, thinking) === signature;
    },
    sentWith: (toolCallId) => byToolCall.get(toolCallId) ?? [],
  };
}

export function isThinking(block: unknown): block is JsonObject {
  return isObject(block) && (block["type"] === "thinking" || block["type"] === "redacted_thinking");
}

function thinkingBlocks(part: WireMessage["parts"][number]): readonly JsonObject[] {
  if (part.kind === "redacted") return [{ type: "redacted_thinking", data: part.data }];
  if (part.kind !== "thinking") return [];
  return [{ type: "thinking", thinking: part.pieces.join(""), signature: part.signature }];
}
