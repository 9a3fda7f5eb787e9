import type { CallId } from "../ids.ts";

/** A message in neutral form. A serializer converts it to a dialect's bytes exactly once. */
export type Message = UserMessage | AssistantMessage;

/** A user turn: everything that the model gets between two of its responses. */
export interface UserMessage {
  readonly role: "user";
  /** Tool results in call order, then text and images. */
  readonly content: readonly UserBlock[];
}

/** A response of the model. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: readonly AssistantBlock[];
}

/** A part of a user turn: text, an image or the result of a call. */
export type UserBlock = TextBlock | ImageBlock | ToolResultBlock;
/** A part of a response. */
export type AssistantBlock = TextBlock | ThinkingBlock | OpaqueBlock | ToolCallBlock;
/** A part of a tool result. */
export type ResultBlock = TextBlock | ImageBlock;

/** Text that the user, the model or a tool wrote. */
export interface TextBlock {
  readonly type: "text";
  readonly text: string;
  /** What the model said that a text is for. Sent back to OpenAI's models, which work worse without it. */
  readonly phase?: "commentary" | "final_answer" | undefined;
}

/** An image in a user turn or a tool result. */
export interface ImageBlock {
  readonly type: "image";
  readonly mediaType: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  /** Image data, encoded as base64. */
  readonly data: string;
}

/** The result of a tool call. */
export interface ToolResultBlock {
  readonly type: "tool_result";
  readonly callId: CallId;
  readonly content: readonly ResultBlock[];
  readonly isError: boolean;
}

/** Provider and model that wrote a block. The block may be sent only to that model. */
export interface Origin {
  readonly provider: string;
  readonly model: string;
}

/** What the model thought before or between its texts and calls. Some providers sign it and expect it back. */
export interface ThinkingBlock {
  readonly type: "thinking";
  readonly text: string;
  readonly signature?: string | undefined;
  readonly origin: Origin;
}

/** A provider-specific block that is sent back unchanged, as the JSON text in which it arrived. */
export interface OpaqueBlock {
  readonly type: "opaque";
  readonly json: string;
  readonly origin: Origin;
}

/** A tool call in a response. */
export interface ToolCallBlock {
  readonly type: "tool_call";
  readonly callId: CallId;
  readonly name: string;
  /** A complete JSON object, exactly as the model wrote it. Parsing would lose number formats and key order. */
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
