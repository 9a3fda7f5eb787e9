import type { CallId } from "./ids.ts";

/** A conversation is told in these neutral words; dialects turn them into wire bytes once. */
export type Message = UserMessage | AssistantMessage;

export interface UserMessage {
  readonly role: "user";
  /** Tool results first, in call order, then what was said. */
  readonly content: readonly UserBlock[];
}

export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: readonly AssistantBlock[];
}

export type UserBlock = TextBlock | ImageBlock | ToolResultBlock;
export type AssistantBlock = TextBlock | ThinkingBlock | OpaqueBlock | ToolCallBlock;
export type ResultBlock = TextBlock | ImageBlock;

export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

export interface ImageBlock {
  readonly type: "image";
  readonly mediaType: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  /** base64 */
  readonly data: string;
}

export interface ToolResultBlock {
  readonly type: "tool_result";
  readonly callId: CallId;
  readonly content: readonly ResultBlock[];
  readonly isError: boolean;
}

/** Which provider and model wrote a block that no other one may be shown. */
export interface Origin {
  readonly provider: string;
  readonly model: string;
}

export interface ThinkingBlock {
  readonly type: "thinking";
  readonly text: string;
  readonly signature?: string | undefined;
  readonly origin: Origin;
}

/** A provider's block we carry without understanding it, as the JSON text it came in. */
export interface OpaqueBlock {
  readonly type: "opaque";
  readonly json: string;
  readonly origin: Origin;
}

export interface ToolCallBlock {
  readonly type: "tool_call";
  readonly callId: CallId;
  readonly name: string;
  /** As the model wrote it: parsing would lose number forms and key order. Always a complete JSON object. */
  readonly inputJson: string;
}

export function textOf(blocks: readonly (UserBlock | AssistantBlock)[]): string {
  let text = "";
  for (const block of blocks) if (block.type === "text") text += text === "" ? block.text : `\n${block.text}`;
  return text;
}

export function callsOf(message: AssistantMessage): readonly ToolCallBlock[] {
  return message.content.filter((block) => block.type === "tool_call");
}
