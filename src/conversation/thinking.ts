import type { AssistantBlock, Head, Message, OpaqueBlock, ThinkingBlock } from "../protocol/index.ts";

/**
 * Returns the message without its thinking; the message itself if it has none. Providers accept thinking only after
 * exactly the tools, system text and messages after which it was written.
 */
export function withoutThinking(message: Message): Message {
  if (message.role === "user" || !message.content.some(isThinking)) return message;
  return { role: "assistant", content: message.content.filter((block) => !isThinking(block)) };
}

/** Returns whether requests with this head contain thinking from this message. */
export function sendsThinking(message: Message, head: Head): boolean {
  if (message.role === "user") return false;
  return message.content.some((block) => isThinking(block) && isShownTo(block, head));
}

/**
 * Returns whether a thinking or opaque block may be sent. Only the model that wrote a block may receive it, and only in
 * the dialect in which it was written.
 */
export function isShownTo(block: ThinkingBlock | OpaqueBlock, { provider, model, dialect }: Head): boolean {
  if (block.origin.provider !== provider || block.origin.model !== model) return false;
  if (block.type === "opaque") return dialect === (isReasoning(block) ? "responses" : "anthropic");
  return dialect === "anthropic" && block.signature !== undefined;
}

export function isThinking(block: AssistantBlock): block is ThinkingBlock | OpaqueBlock {
  if (block.type !== "opaque") return block.type === "thinking";
  return isReasoning(block) || /"type"\s*:\s*"redacted_thinking"/.test(block.json);
}

/** Returns whether a block is a reasoning item of the Responses API. */
function isReasoning({ json }: OpaqueBlock): boolean {
  return /"type"\s*:\s*"reasoning"/.test(json);
}

/** Returns whether two heads put the same tools and system text before the messages. */
export function precedeAlike(left: Head, right: Head): boolean {
  return (
    left.system === right.system &&
    left.systemContext === right.systemContext &&
    left.userContext === right.userContext &&
    JSON.stringify(left.tools) === JSON.stringify(right.tools)
  );
}
