import { isDeepStrictEqual } from "node:util";
import { isObject, type JsonObject } from "../json-values.ts";
import { demand } from "./check.ts";
import { isThinking, type ThinkingLedger } from "./thinking-ledger.ts";
import type { CheckedMessage } from "./validate-anthropic-block.ts";

/**
 * With thinking on, the thinking that led to tool calls comes back unchanged while their turn still runs.
 * The provider drops it from older turns itself, so a client may leave it out there.
 */
export function checkThinkingReturned(
  messages: readonly CheckedMessage[],
  { request, ledger }: { request: JsonObject; ledger: ThinkingLedger },
): void {
  const thinking = request["thinking"];
  if (!isObject(thinking) || thinking["type"] === "disabled") return;
  const lastWords = messages.findLastIndex((message) => message.role === "user" && !isResults(message));
  for (const message of messages.slice(lastWords + 1)) {
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
      isDeepStrictEqual(returned.map(plain), sent.map(plain)),
      `messages.${message.index}.content: \`thinking\` or \`redacted_thinking\` blocks can not be modified; ` +
        "they must stay as they were in the original response.",
    );
  }
}

function isResults(message: CheckedMessage): boolean {
  return message.blocks.some((block) => block["type"] === "tool_result");
}

function plain(block: JsonObject): JsonObject {
  return { ...block };
}
