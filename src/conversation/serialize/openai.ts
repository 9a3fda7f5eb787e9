import type {
  AssistantMessage,
  Head,
  ImageBlock,
  JsonSchema,
  Message,
  ToolDeclaration,
  UserBlock,
  UserMessage,
} from "../../protocol/index.ts";
import { textOf } from "../../protocol/index.ts";
import {
  type HeadDimension,
  type HeadText,
  type RequestHead,
  type SegmentText,
  type Serializer,
  systemTexts,
} from "./serializer.ts";
import { wireCallId } from "./wire-text.ts";

export const openaiSerializer: Serializer = {
  head: openaiHead,
  segment: openaiSegment,
  end: ({ maxTokensField = "max_tokens" }, maxTokens) => `],${JSON.stringify(maxTokensField)}:${maxTokens}}`,
  marks: { "5m": "", "1h": "" },
};

function openaiHead(head: RequestHead): HeadText {
  let text = `{"model":${JSON.stringify(head.model)},"stream":true,"stream_options":{"include_usage":true}`;
  const effort = head.effort ?? (mustNotReason(head) ? "none" : undefined);
  if (effort) text += `,"reasoning_effort":${JSON.stringify(effort)}`;
  if (head.answerSchema) text += `,"response_format":${JSON.stringify(responseFormat(head.answerSchema))}`;
  if (head.tools.length > 0) text += `,"tools":[${head.tools.map(toolText).join(",")}]`;
  const dimensions: HeadDimension[] = [{ name: "tools_model_thinking", end: text.length }];
  text += ',"messages":[';
  let opened = false;
  for (const { name, text: part } of systemTexts(head)) {
    if (part.trim() !== "") {
      // All parts go into one system message as a single string, because many local servers accept nothing else.
      text += opened ? "\\n\\n" : '{"role":"system","content":"';
      text += JSON.stringify(part).slice(1, -1);
      opened = true;
    }
    dimensions.push({ name, end: text.length });
  }
  if (opened) text += '"}';
  return { text, markAt: -1, toolMarks: [], holdsMessage: opened, dimensions };
}

function responseFormat(schema: JsonSchema): object {
  return { type: "json_schema", json_schema: answerFormat(schema) };
}

/**
 * OpenAI enforces a schema only in strict mode, which requires every property. Compatible servers always enforce the
 * schema.
 */
export function answerFormat(schema: JsonSchema): object {
  return { name: "answer", strict: requiresEverything(schema), schema };
}

function requiresEverything(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return true;
  const { type, properties = {}, required = [] } = schema as Record<string, object | undefined>;
  return (
    (String(type) !== "object" || Object.keys(properties).length === (required as readonly unknown[]).length) &&
    Object.values(schema).every(requiresEverything)
  );
}

function mustNotReason({ tools, model }: Head): boolean {
  return tools.length > 0 && takesToolsOnlyWithoutReasoning(model);
}

function toolText(tool: ToolDeclaration): string {
  return `{"type":"function","function":{"name":${JSON.stringify(tool.name)},"description":${JSON.stringify(tool.description)},"parameters":${JSON.stringify(tool.inputSchema)}}}`;
}

function openaiSegment(message: Message): SegmentText {
  const messages = message.role === "user" ? userTurn(message) : [assistantText(message)];
  return { text: messages.map((json) => `,${json}`).join(""), markAt: -1, resultsMarkAt: -1 };
}

/**
 * Returns one message for each tool result, then one with text and images. Images in tool results are sent as user
 * content, because tool messages can't contain them.
 */
function userTurn(message: UserMessage): string[] {
  const messages: string[] = [];
  const rest: UserBlock[] = [];
  for (const block of message.content) {
    if (block.type !== "tool_result") {
      rest.push(block);
      continue;
    }
    const images = block.content.filter((part) => part.type === "image");
    const text = textOf(block.content) || (images.length > 0 ? "(image follows)" : "(no output)");
    const content = block.isError ? `Error: ${text}` : text;
    messages.push(
      `{"role":"tool","tool_call_id":${JSON.stringify(wireCallId(block.callId))},"content":${JSON.stringify(content)}}`,
    );
    rest.push(...images);
  }
  if (rest.length > 0) messages.push(`{"role":"user","content":${contentText(rest)}}`);
  if (messages.length === 0) messages.push('{"role":"user","content":"(no text)"}');
  return messages;
}

function contentText(blocks: readonly UserBlock[]): string {
  if (blocks.every((block) => block.type === "text")) return JSON.stringify(textOf(blocks));
  const parts = blocks.map((block) =>
    block.type === "image" ? imageText(block) : `{"type":"text","text":${JSON.stringify(textOf([block]))}}`,
  );
  return `[${parts.join(",")}]`;
}

function imageText(block: ImageBlock): string {
  return `{"type":"image_url","image_url":{"url":"data:${block.mediaType};base64,${block.data}"}}`;
}

function assistantText(message: AssistantMessage): string {
  const text = textOf(message.content);
  const calls = message.content.filter((block) => block.type === "tool_call");
  if (calls.length === 0) return `{"role":"assistant","content":${JSON.stringify(text || "(no text)")}}`;
  const callTexts = calls.map(
    (call) =>
      `{"id":${JSON.stringify(wireCallId(call.callId))},"type":"function","function":{"name":${JSON.stringify(call.name)},"arguments":${JSON.stringify(call.inputJson)}}}`,
  );
  return `{"role":"assistant","content":${text === "" ? "null" : JSON.stringify(text)},"tool_calls":[${callTexts.join(",")}]}`;
}

/**
 * Models that accept tools over Chat Completions only if reasoning is switched off. They reason by default and then
 * reject requests with tools. Models whose reasoning can't be switched off (gpt-6-astra, gpt-6.1-sol, gpt-6.2) don't
 * accept tools there at all.
 */
const toolsOnlyWithoutReasoning: ReadonlySet<string> = new Set([
  "gpt-6-sol",
  "gpt-6.1-terra",
  "gpt-6-luna",
  "gpt-5.6",
  "gpt-5.6-sol",
  "gpt-5.6-terra",
  "gpt-5.6-luna",
  "gpt-5.4",
  "gpt-5.4-mini",
]);

export function takesToolsOnlyWithoutReasoning(model: string): boolean {
  return toolsOnlyWithoutReasoning.has(model.replace(/-\d{4}-\d{2}-\d{2}$/, ""));
}
