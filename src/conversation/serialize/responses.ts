import { createHash } from "node:crypto";
import {
  type AssistantMessage,
  type Head,
  type ResultBlock,
  type ToolDeclaration,
  textOf,
  type UserMessage,
} from "../../protocol/index.ts";
import { isShownTo } from "../thinking.ts";
import { answerFormat } from "./openai.ts";
import { type HeadDimension, type HeadText, type RequestHead, type Serializer, systemTexts } from "./serializer.ts";
import { wireCallId } from "./wire-text.ts";

/** OpenAI's Responses API. Nothing is stored there: every request contains the whole conversation. */
export const responsesSerializer: Serializer = {
  head: responsesHead,
  segment: (message, head) => {
    const items = message.role === "user" ? userItems(message) : assistantItems(message, head);
    return { text: items.map((json) => `,${json}`).join(""), markAt: -1, resultsMarkAt: -1 };
  },
  end: (_, maxTokens) => `],"max_output_tokens":${maxTokens}}`,
  marks: { "5m": "", "1h": "" },
};

function responsesHead(head: RequestHead): HeadText {
  const { model, effort, answerSchema, withoutSummaries } = head;
  let text = `{"model":${JSON.stringify(model)},"stream":true,"store":false`;
  if (isReasoningModel(model)) text += ',"include":["reasoning.encrypted_content"]';
  const reasoning = { effort, summary: isReasoningModel(model) && !withoutSummaries ? "auto" : undefined };
  if (reasoning.effort || reasoning.summary) text += `,"reasoning":${JSON.stringify(reasoning)}`;
  if (answerSchema)
    text += `,"text":${JSON.stringify({ format: { type: "json_schema", ...answerFormat(answerSchema) } })}`;
  const start = text.length;
  if (head.tools.length > 0) text += `,"parallel_tool_calls":true,"tools":[${head.tools.map(toolText).join(",")}]`;
  const dimensions: HeadDimension[] = [{ name: "tools_model_thinking", end: text.length }];
  let opened = false;
  for (const { name, text: part } of systemTexts(head)) {
    if (part.trim() !== "") {
      text += opened ? "\\n\\n" : ',"instructions":"';
      text += JSON.stringify(part).slice(1, -1);
      opened = true;
    }
    dimensions.push({ name, end: text.length });
  }
  if (opened) text += '"';
  // Requests with the same key are served where their common beginning is cached. Forks have the key of their parent.
  const key = createHash("sha256").update(text.slice(start)).digest("hex").slice(0, 32);
  text += `,"prompt_cache_key":"${key}","input":[`;
  return { text, markAt: -1, toolMarks: [], holdsMessage: false, dimensions };
}

/** Returns whether a model reasons. The API refuses requests for reasoning if the model does not. */
function isReasoningModel(model: string): boolean {
  return /^(.*\/)?(gpt-[5-9]|o\d)/.test(model) && !model.includes("-chat");
}

/** Without `strict: false`, every property of a tool's input would be required. */
function toolText({ name, description, inputSchema }: ToolDeclaration): string {
  return JSON.stringify({ type: "function", name, description, parameters: inputSchema, strict: false });
}

/** Returns one item for each tool result, then one with text and images. */
function userItems({ content }: UserMessage): string[] {
  const items: string[] = [];
  const parts: string[] = [];
  for (const block of content) {
    if (block.type !== "tool_result") {
      if (block.type === "image" || block.text !== "") parts.push(partText(block));
      continue;
    }
    const id = JSON.stringify(wireCallId(block.callId));
    items.push(`{"type":"function_call_output","call_id":${id},"output":${outputText(block)}}`);
  }
  if (parts.length > 0) items.push(`{"role":"user","content":[${parts.join(",")}]}`);
  return items.length > 0 ? items : ['{"role":"user","content":"(no text)"}'];
}

function outputText({ content, isError }: { content: readonly ResultBlock[]; isError: boolean }): string {
  const images = content.filter((part) => part.type === "image");
  const text = textOf(content) || (images.length > 0 ? "" : "(no output)");
  const whole = isError ? `Error: ${text}` : text;
  if (images.length === 0) return JSON.stringify(whole);
  const said: readonly ResultBlock[] = whole === "" ? [] : [{ type: "text", text: whole }];
  return `[${[...said, ...images].map(partText).join(",")}]`;
}

function partText(block: ResultBlock): string {
  if (block.type === "text") return `{"type":"input_text","text":${JSON.stringify(block.text)}}`;
  return `{"type":"input_image","detail":"auto","image_url":"data:${block.mediaType};base64,${block.data}"}`;
}

function assistantItems({ content }: AssistantMessage, head: Head): string[] {
  const items: string[] = [];
  // Reasoning counts only after exactly the items after which it was written. A call is sent with an id of our own.
  let isExact = true;
  for (const block of content) {
    if (block.type === "text") items.push(messageItem(block));
    if (block.type === "opaque" && isExact && isShownTo(block, head)) items.push(block.json);
    if (block.type !== "tool_call") continue;
    const call = `"call_id":${JSON.stringify(wireCallId(block.callId))},"name":${JSON.stringify(block.name)}`;
    items.push(`{"type":"function_call",${call},"arguments":${JSON.stringify(block.inputJson)}}`);
    isExact = false;
  }
  return items.length > 0 ? items : [messageItem({ text: "(no text)" })];
}

function messageItem({ text, phase }: { text: string; phase?: string | undefined }): string {
  return JSON.stringify({ role: "assistant", content: text, phase });
}
