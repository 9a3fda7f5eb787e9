import { createHash, createHmac } from "node:crypto";
import { asList, asObject, asText, isObject, type JsonObject } from "../json-values.ts";

/**
 * Contents of the signature of a thinking block: who wrote the block, and hashes of everything before it. A signature
 * can therefore be checked without any memory, also by another server with the same seed.
 */
export type Binding = {
  model: string;
  system: string;
  tools: string;
  /** Hash of the messages before the block and of the earlier blocks of its own message, without thinking. */
  messages: string;
  /** Thinking block that came before this one in the conversation, as a hash of its signature. Empty for the first. */
  previous: string;
  /** For a compaction block, the role of the last message that it summarizes. */
  role?: string | undefined;
};

/** Signs thinking so that a later request shows whether anything before it has changed. */
export function signBlock(text: string, { binding, seed }: { binding: Binding; seed: number }): string {
  const payload = Buffer.from(JSON.stringify(binding)).toString("base64url");
  return `${payload}.${seal(payload, { text, seed })}`;
}

/** Returns what a signature contains; undefined if this server did not create it for this text. */
export function readSignature(signature: string, { text, seed }: { text: string; seed: number }): Binding | undefined {
  const [payload = "", mac] = signature.split(".");
  if (mac !== seal(payload, { text, seed })) return undefined;
  return JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
}

function seal(payload: string, { text, seed }: { text: string; seed: number }): string {
  return createHmac("sha256", `thinking ${seed}`).update(`${payload}.${text}`).digest("base64url");
}

/** Returns the text and the signature of a thinking, redacted_thinking or compaction block. */
export function signedText(block: JsonObject): { text: string; signature: string } {
  if (block["type"] === "compaction") return { text: asText(block["content"]), signature: asText(block["signature"]) };
  if (block["type"] === "thinking") return { text: asText(block["thinking"]), signature: asText(block["signature"]) };
  const data = asText(block["data"]);
  const signature = /[^.]*\.[^.]*$/.exec(data)?.[0] ?? "";
  return { text: data.slice(0, -signature.length - 1), signature };
}

export function isThinking(block: unknown): block is JsonObject {
  return isObject(block) && (block["type"] === "thinking" || block["type"] === "redacted_thinking");
}

export function isCompaction(block: unknown): block is JsonObject {
  return isObject(block) && block["type"] === "compaction";
}

/** The part of a conversation that precedes a block. Grows block by block; only values count, not their JSON text. */
export type Prefix = {
  /** Starts a message. Its blocks follow. */
  begin(role: string): void;
  /** Adds a block, or the content of a message that has no blocks. Thinking is added with `think`. */
  add(content: unknown): void;
  think(signature: string): void;
  /** Returns the binding of a thinking block that `model` writes at this point. */
  bind(model: string): Binding;
  /** Adds a compaction block. With its binding, kept messages follow as they followed the summarized messages. */
  compact(block: JsonObject, summarized: Binding | undefined): void;
};

export function createPrefix(body: JsonObject): Prefix {
  const system = hashOf(body["system"] ?? []);
  // A tool that is loaded later does not count before it is referenced, which this server does not support.
  const tools = hashOf(asList(body["tools"]).filter((tool) => asObject(tool)["defer_loading"] !== true));
  let messages = "";
  let previous = "";
  let side: string | undefined;
  /** Role of the last message that a compaction block summarizes, until the next message begins. */
  let summarizedRole: string | undefined;
  const write = (text: string): void => {
    messages = createHash("sha256").update(`${messages}\n${text}`).digest("base64url");
  };
  return {
    begin: (role) => {
      // The provider merges a kept message with the last summarized one if both have the same role.
      write(summarizedRole === role ? `more ${role}` : role);
      summarizedRole = undefined;
      side = role;
    },
    add: (content) => write(canonical(content)),
    think: (signature) => {
      previous = createHash("sha256").update(signature).digest("base64url").slice(0, 22);
    },
    bind: (model) => ({ model, system, tools, messages, previous, role: side }),
    compact: (block, summarized) => {
      if (summarized?.system !== system || summarized.tools !== tools) return write(canonical(block));
      ({ messages, previous, role: summarizedRole } = summarized);
    },
  };
}

interface Signed {
  /** Called before each thinking block; if it returns false, the block is skipped. */
  onThinking?: (block: JsonObject, path: string) => boolean;
  /** Returns what precedes the messages that follow a compaction block; undefined if their thinking is not kept. */
  summarizedBy?: (block: JsonObject) => Binding | undefined;
}

/** Adds all messages of a request. */
export function addMessages(
  prefix: Prefix,
  messages: unknown,
  { onThinking = () => true, summarizedBy = () => undefined }: Signed = {},
): void {
  for (const [index, message] of asList(messages).map(asObject).entries()) {
    const content = message["content"];
    const [first] = asList(content);
    const isSummary = index === 0 && isCompaction(first);
    if (isSummary) prefix.compact(first, summarizedBy(first));
    // The block stands for messages, and is not a part of one.
    if (isSummary && asList(content).length === 1) continue;
    prefix.begin(asText(message["role"]));
    if (!Array.isArray(content)) prefix.add(content);
    for (const [position, block] of asList(content).entries()) {
      if (isSummary && position === 0) continue;
      if (!isThinking(block)) prefix.add(block);
      else if (onThinking(block, `messages.${index}.content.${position}`)) prefix.think(signedText(block).signature);
    }
  }
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(canonical(value)).digest("base64url").slice(0, 22);
}

/** Returns JSON text that does not depend on the order of keys. Cache marks are left out. */
function canonical(content: unknown): string {
  return JSON.stringify(Array.isArray(content) ? content.map(withoutMarks) : withoutMarks(content), (_, value) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([one], [two]) => (one < two ? -1 : 1))) : value,
  );
}

function withoutMarks(block: unknown): unknown {
  if (!isObject(block)) return block;
  const { cache_control: _, ...rest } = block;
  const { content } = rest;
  return Array.isArray(content) ? { ...rest, content: content.map(withoutMarks) } : rest;
}
