import {
  type AssistantBlock,
  ENVIRONMENT_OPENING,
  FORK_INTRODUCTION,
  type Head,
  type Message,
  type ResultBlock,
  runtimeTextBegins,
  type ToolDeclaration,
  type UserBlock,
} from "../../protocol/index.ts";
import { isShownTo, isThinking } from "../thinking.ts";
import {
  type HeadDimension,
  type HeadText,
  type RequestHead,
  type SegmentText,
  type Serializer,
  systemTexts,
} from "./serializer.ts";
import { wireCallId } from "./wire-text.ts";

export const anthropicSerializer: Serializer = {
  head: anthropicHead,
  segment: anthropicSegment,
  end: ({ summaryInstructions: instructions }, maxTokens) => {
    const summary =
      instructions === undefined ? "" : `,"compaction":${JSON.stringify({ type: "summarize", instructions })}`;
    return `],"max_tokens":${maxTokens}${summary}}`;
  },
  marks: {
    "5m": ',"cache_control":{"type":"ephemeral"}',
    "1h": ',"cache_control":{"type":"ephemeral","ttl":"1h"}',
  },
};

function anthropicHead(head: RequestHead): HeadText {
  let text = `{"model":${JSON.stringify(head.model)},"stream":true`;
  // Without `display`, current models return no text with their thinking.
  if (head.thinking && !head.withoutSummaries) text += ',"thinking":{"type":"adaptive","display":"summarized"}';
  if (head.effort || head.answerSchema) text += `,"output_config":${JSON.stringify(outputConfig(head))}`;
  const shared = sharedCounts(head.tools);
  const toolMarks: number[] = [];
  for (const [index, tool] of head.tools.entries()) {
    text += `${index === 0 ? ',"tools":[' : ","}${toolText(tool)}`;
    if (shared.includes(index + 1)) toolMarks.push(text.length - 1);
  }
  if (head.tools.length > 0) text += "]";
  const dimensions: HeadDimension[] = [{ name: "tools_model_thinking", end: text.length }];
  let markAt = -1;
  let opened = false;
  for (const { name, text: part } of systemTexts(head)) {
    if (part.trim() !== "") {
      text += `${opened ? "," : ',"system":['}{"type":"text","text":${JSON.stringify(part)}}`;
      markAt = text.length - 1;
      opened = true;
    }
    dimensions.push({ name, end: text.length });
  }
  text += `${opened ? "]" : ""},"messages":[`;
  return { text, markAt, toolMarks, holdsMessage: false, dimensions };
}

function outputConfig({ effort, answerSchema }: RequestHead): object {
  return { effort, format: answerSchema && { type: "json_schema", schema: answerSchema } };
}

/**
 * Returns how many tools at the beginning of the list are shared with other agents: the tools before Edit, which come
 * first for every read-only agent, and the tools before Task, which come first for every other subagent (see
 * `createTools`).
 */
function sharedCounts(tools: readonly ToolDeclaration[]): readonly number[] {
  const before = (tool: string): number => tools.findIndex(({ name }) => name === tool);
  const beforeTask = before("Task");
  return [before("Edit"), beforeTask < 0 ? tools.length : beforeTask];
}

function toolText(tool: ToolDeclaration): string {
  return `{"name":${JSON.stringify(tool.name)},"description":${JSON.stringify(tool.description)},"input_schema":${JSON.stringify(tool.inputSchema)}}`;
}

function anthropicSegment(message: Message, head: Head): SegmentText {
  let text = `,{"role":"${message.role}","content":[`;
  let markAt = -1;
  let resultsMarkAt = -1;
  let count = 0;
  const add = (block: string, markable: boolean): void => {
    text += count === 0 ? block : `,${block}`;
    count += 1;
    markAt = markable ? text.length - 1 : -1;
  };
  if (message.role === "user") {
    for (const block of message.content) {
      const blockJson = userBlockText(block);
      if (blockJson === undefined) continue;
      add(blockJson, true);
      if (block.type === "tool_result" || isForSiblings(block)) resultsMarkAt = markAt;
    }
  } else {
    // Thinking is accepted only after exactly the blocks after which it was written.
    let isExact = true;
    for (const block of message.content) {
      const blockJson = isExact || !isThinking(block) ? assistantBlockText(block, head) : undefined;
      if (blockJson !== undefined) add(blockJson, block.type === "text" || block.type === "tool_call");
      // A call is sent with an id that differs from the provider's own.
      if (block.type === "tool_call" || (block.type === "text" && blockJson === undefined)) isExact = false;
    }
  }
  // The API rejects empty messages, and a response may consist only of blocks that other models must not see.
  if (count === 0) add('{"type":"text","text":"(no text)"}', true);
  return { text: `${text}]}`, markAt, resultsMarkAt };
}

function isForSiblings(block: UserBlock): boolean {
  return (
    block.type === "text" && (block.text === FORK_INTRODUCTION || runtimeTextBegins(block.text, ENVIRONMENT_OPENING))
  );
}

function userBlockText(block: UserBlock): string | undefined {
  if (block.type === "tool_result") {
    const error = block.isError ? ',"is_error":true' : "";
    return `{"type":"tool_result","tool_use_id":${JSON.stringify(wireCallId(block.callId))},"content":${resultText(block.content)}${error}}`;
  }
  return plainBlockText(block);
}

function resultText(content: readonly ResultBlock[]): string {
  const only = content[0];
  if (content.length === 1 && only?.type === "text") return JSON.stringify(only.text);
  return `[${content.map(plainBlockText).filter(isPresent).join(",")}]`;
}

function plainBlockText(block: ResultBlock): string | undefined {
  if (block.type === "text") return blankless(block.text);
  return `{"type":"image","source":{"type":"base64","media_type":"${block.mediaType}","data":"${block.data}"}}`;
}

function assistantBlockText(block: AssistantBlock, head: Head): string | undefined {
  if (block.type === "text") return blankless(block.text);
  if (block.type === "tool_call") {
    return `{"type":"tool_use","id":${JSON.stringify(wireCallId(block.callId))},"name":${JSON.stringify(block.name)},"input":${block.inputJson}}`;
  }
  if (!isShownTo(block, head)) return undefined;
  if (block.type === "opaque") return block.json;
  return `{"type":"thinking","thinking":${JSON.stringify(block.text)},"signature":${JSON.stringify(block.signature)}}`;
}

/** Returns a text block. Undefined for blank text, because the API rejects text blocks without a visible character. */
function blankless(text: string): string | undefined {
  return text.trim() === "" ? undefined : `{"type":"text","text":${JSON.stringify(text)}}`;
}

function isPresent(text: string | undefined): text is string {
  return text !== undefined;
}
