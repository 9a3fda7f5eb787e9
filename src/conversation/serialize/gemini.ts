import {
  type AssistantMessage,
  callsOf,
  type Effort,
  type Head,
  type JsonObject,
  type JsonValue,
  type Message,
  type ResultBlock,
  type ToolDeclaration,
  type ToolResultBlock,
  textOf,
  type UserMessage,
} from "../../protocol/index.ts";
import { isShownTo } from "../thinking.ts";
import { type HeadDimension, type HeadText, type RequestHead, type Serializer, systemTexts } from "./serializer.ts";
import { wireCallId } from "./wire-text.ts";

/** Google's Gemini API (generateContent). The model is named in the URL, and parameters follow the messages. */
export const geminiSerializer: Serializer = {
  head: geminiHead,
  segment: (message, head, before) => {
    const isUser = message.role === "user";
    const parts = isUser ? userParts(message, before) : assistantParts(message, head);
    const all = parts.length > 0 ? parts : ['{"text":"(no text)"}'];
    const text = `,{"role":"${isUser ? "user" : "model"}","parts":[${all.join(",")}]}`;
    return { text, markAt: -1, resultsMarkAt: -1 };
  },
  end: (head, maxTokens) => `],"generationConfig":${JSON.stringify(generationConfig(head, maxTokens))}}`,
  marks: { "5m": "", "1h": "" },
};

function geminiHead(head: RequestHead): HeadText {
  let text = "{";
  if (head.tools.length > 0) text += `"tools":[{"functionDeclarations":[${head.tools.map(toolText).join(",")}]}],`;
  const dimensions: HeadDimension[] = [{ name: "tools_model_thinking", end: text.length }];
  let opened = false;
  for (const { name, text: part } of systemTexts(head)) {
    if (part.trim() !== "") {
      text += `${opened ? "," : '"systemInstruction":{"parts":['}{"text":${JSON.stringify(part)}}`;
      opened = true;
    }
    dimensions.push({ name, end: text.length });
  }
  text += `${opened ? "]}," : ""}"contents":[`;
  return { text, markAt: -1, toolMarks: [], holdsMessage: false, dimensions };
}

function toolText({ name, description, inputSchema }: ToolDeclaration): string {
  return JSON.stringify({ name, description, parametersJsonSchema: inputSchema });
}

function generationConfig(
  { model, effort, answerSchema, withoutSummaries }: RequestHead,
  maxOutputTokens: number,
): object {
  const thinks = /^(.*\/)?gemini-/.test(model) && !withoutSummaries;
  const thinkingLevel = effort && !model.includes("gemini-2") ? levels[effort] : undefined;
  const format = answerSchema && {
    responseMimeType: "application/json",
    responseJsonSchema: withoutConstants(answerSchema),
  };
  return { thinkingConfig: thinks ? { includeThoughts: true, thinkingLevel } : undefined, ...format, maxOutputTokens };
}

const levels: Readonly<Record<Effort, string>> = {
  low: "LOW",
  medium: "MEDIUM",
  high: "HIGH",
  xhigh: "HIGH",
  max: "HIGH",
};

/** Replaces `const`, which the API does not know, and leaves out lists of values other than strings and numbers. */
function withoutConstants({
  const: constant,
  enum: listed,
  properties,
  items,
  anyOf,
  ...rest
}: JsonObject): JsonObject {
  const values = listed ?? (constant === undefined ? undefined : [constant]);
  const isKnown = (value: JsonValue) => typeof value === "string" || typeof value === "number";
  const named = Object.entries(isObject(properties) ? properties : {}).map(([name, part]) => [name, inner(part)]);
  return {
    ...rest,
    ...(Array.isArray(values) && values.every(isKnown) ? { enum: values } : {}),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(named) }),
    ...(items === undefined ? {} : { items: inner(items) }),
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.map(inner) } : {}),
  };
}

function inner(part: JsonValue | undefined): JsonValue {
  return isObject(part) ? withoutConstants(part) : (part ?? {});
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the results, then text and images. A result must name the function that it comes from. */
function userParts({ content }: UserMessage, before: () => Message | undefined): string[] {
  const answered = content.some(({ type }) => type === "tool_result") ? before() : undefined;
  const calls = answered?.role === "assistant" ? callsOf(answered) : [];
  const nameOf = (id: string): string => calls.find(({ callId }) => callId === id)?.name ?? "unknown";
  return content.flatMap((block) => {
    if (block.type === "tool_result") return resultText(block, nameOf(block.callId));
    return block.type === "text" && block.text === "" ? [] : partText(block);
  });
}

function resultText({ callId, content, isError }: ToolResultBlock, name: string): string {
  const images = content.filter((part) => part.type === "image");
  const unreadable = images.filter((image) => !isReadable(image)).map(partText);
  const text = textOf(content) || (images.length > 0 ? "" : "(no output)");
  const said = JSON.stringify({ [isError ? "error" : "output"]: text });
  const media = images.filter(isReadable).map(partText);
  const parts = media.length > 0 ? `,"parts":[${media.join(",")}]` : "";
  const response = `{"id":${JSON.stringify(wireCallId(callId))},"name":${JSON.stringify(name)},"response":${said}${parts}}`;
  return [`{"functionResponse":${response}}`, ...unreadable].join(",");
}

function isReadable(block: ResultBlock): boolean {
  return block.type === "text" || block.mediaType !== "image/gif";
}

function partText(block: ResultBlock): string {
  if (block.type === "text") return `{"text":${JSON.stringify(block.text)}}`;
  if (!isReadable(block)) return `{"text":"(an image of type ${block.mediaType}, which this model can't read)"}`;
  return `{"inlineData":{"mimeType":"${block.mediaType}","data":"${block.data}"}}`;
}

/**
 * In place of a signature, the API accepts this value for calls that another model has made or whose signature must not
 * be sent any more. Without either, it refuses the first call of each response of the current turn.
 */
const NO_SIGNATURE = '"thoughtSignature":"skip_thought_signature_validator"';

function assistantParts({ content }: AssistantMessage, head: Head): string[] {
  const parts: string[] = [];
  let signature: string | undefined = head.model.includes("gemini-2") ? undefined : NO_SIGNATURE;
  for (const block of content) {
    if (block.type === "text" && block.text !== "") parts.push(`{"text":${JSON.stringify(block.text)}}`);
    if (block.type === "opaque" && isShownTo(block, head)) {
      // A signature without a text belongs to the call after it.
      if (block.json.includes('"text":')) parts.push(block.json);
      else signature = block.json.slice(1, -1);
    }
    if (block.type !== "tool_call") continue;
    const call = `"id":${JSON.stringify(wireCallId(block.callId))},"name":${JSON.stringify(block.name)}`;
    const signed = signature === undefined ? "" : `,${signature}`;
    parts.push(`{"functionCall":{${call},"args":${block.inputJson}}${signed}}`);
    signature = undefined;
  }
  return parts;
}
