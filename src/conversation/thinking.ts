import {
  type AssistantBlock,
  type Dialect,
  type Head,
  type Message,
  type OpaqueBlock,
  runtimeText,
  type ThinkingBlock,
} from "../protocol/index.ts";

/**
 * Returns the message without its thinking; the message itself if it has none. Providers accept thinking only after
 * exactly the tools, system text and messages after which it was written. The same is assumed of a summary by the
 * provider, which becomes text.
 */
export function withoutThinking(message: Message): Message {
  if (message.role === "user" || !message.content.some(isThinking)) return message;
  const summary = providedSummary(message);
  if (summary !== undefined) return { role: "user", content: [{ type: "text", text: summaryText(summary) }] };
  return { role: "assistant", content: message.content.filter((block) => !isThinking(block)) };
}

/** Returns whether requests with this head contain thinking from this message. */
export function sendsThinking(message: Message, head: Head): boolean {
  if (message.role === "user") return false;
  return message.content.some((block) => isThinking(block) && isShownTo(block, head));
}

/**
 * Returns whether a thinking or opaque block may be sent. Only the model that wrote a block may receive it, and only in
 * the dialect in which it was written. Claude models also receive each other's thinking: the provider gives them what
 * they can read, and what it leaves out counts as sent.
 */
export function isShownTo(block: ThinkingBlock | OpaqueBlock, { provider, model, dialect }: Head): boolean {
  const { origin } = block;
  if (origin.provider !== provider) return false;
  if (origin.model !== model && !(isClaude(origin.model) && isClaude(model) && isThinking(block))) return false;
  if (block.type === "opaque") return dialect === dialectOf(block);
  return dialect === "anthropic" && block.signature !== undefined;
}

export function isThinking(block: AssistantBlock): block is ThinkingBlock | OpaqueBlock {
  if (block.type !== "opaque") return block.type === "thinking";
  return dialectOf(block) !== "anthropic" || /"type"\s*:\s*"(redacted_thinking|compaction)"/.test(block.json);
}

/** Words with which every summary begins that is not the provider's block. */
export const SUMMARY_OPENING = "The conversation up to here was too long for the context window.";

function summaryText(summary: string): string {
  const safe = summary.replace(/<(?=\/summary\b)/gi, "&lt;");
  return runtimeText(`${SUMMARY_OPENING} This is its summary.\n\n<summary>\n${safe}\n</summary>`);
}

/** Returns the text of a message that is a summary by the provider. */
export function providedSummary({ content }: Message): string | undefined {
  const [block] = content;
  return content.length === 1 && block?.type === "opaque" ? summaryIn(block) : undefined;
}

/** Returns the text of a block that is a summary by the provider. */
export function summaryIn({ json }: OpaqueBlock): string | undefined {
  if (!/"type"\s*:\s*"compaction"/.test(json)) return undefined;
  const { content } = JSON.parse(json) as { readonly content?: unknown };
  return typeof content === "string" && content.trim() !== "" ? content : undefined;
}

function isClaude(model: string): boolean {
  return /(^|[/.])claude-/.test(model);
}

/** Returns the dialect that a block was written in, which for a thought signature of a Gemini model is `gemini`. */
function dialectOf({ json }: OpaqueBlock): Dialect {
  if (json.startsWith('{"thoughtSignature"')) return "gemini";
  return /"type"\s*:\s*"reasoning"/.test(json) ? "responses" : "anthropic";
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
