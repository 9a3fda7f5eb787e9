import { compactionPrompt } from "../../src/agents/index.ts";
import type { AssistantBlock, Line, ResultBlock, UserBlock } from "../../src/protocol/index.ts";

/** A message as it must be sent to the Anthropic API, without cache marks. */
export interface WireMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly unknown[];
}

export interface ExpectedRequest {
  readonly turn: number;
  /** JSON of all messages. Equal conversations have equal JSON. */
  readonly messages: string;
  /** Whether an answer to the request was recorded. */
  readonly answered: boolean;
}

/**
 * Returns the conversation that each request must contain according to the transcript. This does not use the product's
 * implementation (loop and conversation), so that the two check each other.
 */
export function expectedRequests(lines: readonly Line[]): ExpectedRequest[] {
  const messages: WireMessage[] = [];
  const requests: { turn: number; messages: string; answered: boolean }[] = [];
  let calls: string[] = [];
  let results = new Map<string, unknown>();
  let said: unknown[] = [];
  for (const line of lines) {
    if (line.type === "prompt.received") said.push(...line.content.flatMap(userBlock));
    if (line.type === "context.added" || line.type === "notices.delivered")
      said.push({ type: "text", text: line.text });
    if (line.type === "tool.ended") results.set(line.callId, toolResult(line));
    if (line.type === "model.requested") {
      const content = [...calls.flatMap((id) => results.get(id) ?? []), ...said];
      if (content.length > 0) messages.push({ role: "user", content });
      [calls, results, said] = [[], new Map(), []];
      requests.push({ turn: line.turn, messages: JSON.stringify(messages), answered: false });
    }
    if (line.type === "model.ended") {
      const last = requests.at(-1);
      if (last) last.answered = true;
      messages.push({ role: "assistant", content: line.message.content.flatMap(assistantBlock) });
      calls = line.message.content.flatMap((block) => (block.type === "tool_call" ? [block.callId] : []));
    }
    if (line.type === "conversation.compacted") {
      const kept = line.kept === 0 ? [] : messages.slice(-line.kept).map(withoutThinking);
      messages.splice(0, messages.length, { role: "user", content: [{ type: "text", text: line.summary }] }, ...kept);
    }
    if (line.type === "thinking.dropped") messages.splice(0, messages.length, ...messages.map(withoutThinking));
    if (line.type === "model.failed") {
      const content = line.partial.filter((block) => block.type === "text").flatMap(assistantBlock);
      if (content.length > 0) messages.push({ role: "assistant", content });
    }
  }
  return requests;
}

function withoutThinking({ role, content }: WireMessage): WireMessage {
  const isThinking = (block: unknown) => /thinking$/.test((block as { type: string }).type);
  return { role, content: content.filter((block) => !isThinking(block)) };
}

/** Returns the messages of a received request as JSON in the same form. */
export function receivedMessages(body: unknown): string {
  const { messages } = body as { messages: unknown };
  return JSON.stringify(messages, (key, value: unknown) => (key === "cache_control" ? undefined : value));
}

/** Returns the beginning of the conversation that a request asks to summarize; undefined if it asks for no summary. */
export function toBeSummed(body: unknown): string | undefined {
  const messages = JSON.parse(receivedMessages(body)) as WireMessage[];
  const last = messages.at(-1);
  const question = last?.content.at(-1) as { text?: string } | undefined;
  if (last === undefined || question?.text !== compactionPrompt()) return undefined;
  const content = last.content.slice(0, -1);
  const before = messages.slice(0, -1);
  if (content.length === 0) return JSON.stringify(before).slice(0, -"]".length);
  return JSON.stringify([...before, { ...last, content }]).slice(0, -"]}]".length);
}

function userBlock(block: UserBlock): unknown[] {
  if (block.type === "text") return block.text.trim() === "" ? [] : [{ type: "text", text: block.text }];
  throw new Error(`A prompt with a block of type ${block.type} is not expected here.`);
}

function assistantBlock(block: AssistantBlock): unknown[] {
  if (block.type === "text") return block.text.trim() === "" ? [] : [{ type: "text", text: block.text }];
  if (block.type === "tool_call") {
    return [
      { type: "tool_use", id: sentId(block.callId), name: block.name, input: JSON.parse(block.inputJson) as unknown },
    ];
  }
  if (block.type === "opaque") return [JSON.parse(block.json)];
  if (block.signature === undefined) return [];
  return [{ type: "thinking", thinking: block.text, signature: block.signature }];
}

/** Returns a call id as it is sent, with only the first letter of the agent's id: `main_3_0` becomes `m3_0`. */
function sentId(callId: string): string {
  return `${callId.slice(0, 1)}${callId.split("_").slice(-2).join("_")}`;
}

function toolResult({ callId, result }: Extract<Line, { type: "tool.ended" }>): unknown {
  const error = result.outcome === "ok" ? {} : { is_error: true };
  return { type: "tool_result", tool_use_id: sentId(callId), content: resultContent(result.content), ...error };
}

function resultContent(content: readonly ResultBlock[]): unknown {
  const [only, ...others] = content;
  if (only?.type === "text" && others.length === 0) return only.text;
  return content.flatMap((block): unknown[] => {
    if (block.type === "text") return block.text.trim() === "" ? [] : [{ type: "text", text: block.text }];
    return [{ type: "image", source: { type: "base64", media_type: block.mediaType, data: block.data } }];
  });
}
