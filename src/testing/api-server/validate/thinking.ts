import { isDeepStrictEqual } from "node:util";
import { isObject, type JsonObject } from "../json-values.ts";
import { signThinking, type WireMessage } from "../wire/wire-message.ts";
import { type CheckedMessage, demand, demandObject } from "./check.ts";

/** Remembers the thinking that the server sent, with its signatures and the tool calls that followed it. */
export type ThinkingLedger = {
  remember(message: WireMessage): void;
  /** Returns whether this server could have sent exactly this thinking or redacted_thinking block. */
  isGenuine(block: JsonObject): boolean;
  /** Returns the thinking blocks that were sent in the same message as this tool call. */
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
      // Computed signatures stay valid even if the server is restarted in the middle of a session.
      return textBySignature.get(signature) === thinking || signThinking(seed, thinking) === signature;
    },
    sentWith: (toolCallId) => byToolCall.get(toolCallId) ?? [],
  };
}

/** Checks that the other parameters of a request are compatible with its thinking. */
export function checkThinkingParameters(request: JsonObject): void {
  if (request["thinking"] === undefined) return;
  const { type, budget_tokens: budget } = demandObject(request["thinking"], "thinking");
  demand(
    ["enabled", "disabled", "adaptive"].includes(String(type)),
    "thinking.type: should be enabled, disabled or adaptive",
  );
  if (type === "disabled") return;
  const forced = isObject(request["tool_choice"]) && ["any", "tool"].includes(String(request["tool_choice"]["type"]));
  demand(!forced, "thinking: Thinking may not be enabled when tool_choice forces tool use");
  demand(
    [undefined, 1].includes(request["temperature"] as number),
    "temperature: may only be 1 when thinking is enabled",
  );
  if (type !== "enabled") return;
  demand(Number.isInteger(budget) && (budget as number) >= 1024, "thinking.budget_tokens: should be 1024 or more");
  demand(
    (budget as number) < (request["max_tokens"] as number),
    "max_tokens: must be greater than thinking.budget_tokens",
  );
}

/**
 * Checks that, with thinking enabled, the thinking that came with tool calls is sent back unchanged within their turn.
 * The provider itself drops thinking from older turns, so a client may leave it out there.
 */
export function checkThinkingReturned(
  messages: readonly CheckedMessage[],
  { request, ledger }: { request: JsonObject; ledger: ThinkingLedger },
): void {
  const thinking = request["thinking"];
  if (!isObject(thinking) || thinking["type"] === "disabled") return;
  const lastPrompt = messages.findLastIndex((message) => message.role === "user" && !hasToolResults(message));
  for (const message of messages.slice(lastPrompt + 1)) {
    const calls = message.blocks.filter((block) => block["type"] === "tool_use");
    const sent = calls.map((call) => ledger.sentWith(String(call["id"]))).find((blocks) => blocks.length > 0);
    if (sent === undefined) continue;
    const returned = message.blocks.filter(isThinking);
    demand(
      returned.length > 0,
      `messages.${message.index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found ` +
        `\`${message.blocks[0]?.["type"]}\`. The thinking that came with these tool calls must be sent back with them.`,
    );
    demand(
      isDeepStrictEqual(returned, sent),
      `messages.${message.index}.content: \`thinking\` or \`redacted_thinking\` blocks cannot be modified; ` +
        "they must stay as they were in the original response.",
    );
  }
}

function hasToolResults(message: CheckedMessage): boolean {
  return message.blocks.some((block) => block["type"] === "tool_result");
}

function isThinking(block: unknown): block is JsonObject {
  return isObject(block) && (block["type"] === "thinking" || block["type"] === "redacted_thinking");
}

function thinkingBlocks(part: WireMessage["parts"][number]): readonly JsonObject[] {
  if (part.kind === "redacted") return [{ type: "redacted_thinking", data: part.data }];
  if (part.kind !== "thinking") return [];
  return [{ type: "thinking", thinking: part.pieces.join(""), signature: part.signature }];
}
