import type { Prompt } from "../ports/index.ts";
import type {
  AssistantMessage,
  CallId,
  ImageBlock,
  Origin,
  ToolResultBlock,
  UserBlock,
  UserMessage,
} from "../protocol/index.ts";
import { textOf } from "../protocol/index.ts";
import type { AiSdkModel, PromptMessage, PromptPart, ProviderData } from "./ai-sdk-types.ts";
import { isOwn, keptIn } from "./kept.ts";

interface Target {
  readonly version: AiSdkModel["specificationVersion"];
  readonly origin: Origin;
  /** Set for Claude, whose API caches only what is marked, and whose tool results say that a call has failed. */
  readonly isClaude: boolean;
}

/** Returns a conversation in the form that the AI SDK's models expect. */
export function writePrompt({ head, messages }: Prompt, target: Target): readonly PromptMessage[] {
  const system = [head.system, head.systemContext, head.userContext].filter((text) => text.trim() !== "").join("\n\n");
  const calls = new Map<CallId, Call>();
  const turns = messages().map((message) =>
    message.role === "user" ? userMessages(message, calls, target) : assistantMessages(message, calls, target),
  );
  const marked = target.isClaude ? markedTurns(turns, { type: "ephemeral", ttl: head.cacheLifetime }) : turns;
  if (system === "") return marked.flat();
  const first: PromptMessage = { role: "system", content: system };
  const mark = { type: "ephemeral", ttl: head.cacheLifetime };
  return [target.isClaude ? withMark(first, mark) : first, ...marked.flat()];
}

/** A call as the provider knows it. */
interface Call {
  readonly toolCallId: string;
  readonly toolName: string;
}

type Calls = Map<CallId, Call>;
type CacheMark = { readonly type: string; readonly ttl?: string | undefined };

/** Marks the ends of the two newest user turns: the next request can be read from the cache up to there. */
function markedTurns(turns: readonly (readonly PromptMessage[])[], mark: CacheMark): readonly PromptMessage[][] {
  const ends = turns.flatMap((turn, index) => (turn.at(-1)?.role === "assistant" ? [] : [index])).slice(-2);
  return turns.map((turn, index) => {
    const last = turn.at(-1);
    return last && ends.includes(index) ? [...turn.slice(0, -1), withMark(last, mark)] : [...turn];
  });
}

function withMark(message: PromptMessage, cacheControl: CacheMark): PromptMessage {
  const { providerOptions } = message;
  return { ...message, providerOptions: { ...providerOptions, anthropic: { cacheControl: { ...cacheControl } } } };
}

/** Returns the tool results, then text and images. Few providers accept images in results, so they follow as well. */
function userMessages({ content }: UserMessage, calls: Calls, { version, isClaude }: Target): readonly PromptMessage[] {
  const results: PromptPart[] = [];
  const rest: PromptPart[] = [];
  const images: ImageBlock[] = [];
  for (const block of content) {
    if (block.type === "tool_result") {
      results.push(resultPart(block, calls, isClaude));
      images.push(...block.content.filter((part) => part.type === "image"));
    } else rest.push(...userPart(block, version));
  }
  rest.unshift(...images.map((image) => filePart(image, version)));
  const messages: PromptMessage[] = results.length > 0 ? [{ role: "tool", content: results }] : [];
  if (rest.length > 0) messages.push({ role: "user", content: rest });
  return messages.length > 0 ? messages : [{ role: "user", content: [{ type: "text", text: "(no text)" }] }];
}

function resultPart({ callId, content, isError }: ToolResultBlock, calls: Calls, isClaude: boolean): PromptPart {
  const { toolCallId, toolName } = calls.get(callId) ?? { toolCallId: callId, toolName: "unknown" };
  const hasImage = content.some((part) => part.type === "image");
  const text = textOf(content) || (hasImage ? "(image follows)" : "(no output)");
  const value = isError && !isClaude ? `Error: ${text}` : text;
  return { type: "tool-result", toolCallId, toolName, output: { type: isError ? "error-text" : "text", value } };
}

function userPart(block: Exclude<UserBlock, ToolResultBlock>, version: Target["version"]): readonly PromptPart[] {
  if (block.type === "image") return [filePart(block, version)];
  return block.text.trim() === "" ? [] : [{ type: "text", text: block.text }];
}

function filePart({ mediaType, data }: ImageBlock, version: Target["version"]): PromptPart {
  return { type: "file", mediaType, data: version === "v4" ? { type: "data", data } : data };
}

function assistantMessages({ content }: AssistantMessage, calls: Calls, { origin }: Target): readonly PromptMessage[] {
  const parts: PromptPart[] = [];
  const denied: PromptPart[] = [];
  // Signatures are accepted only after exactly the parts after which they were written.
  let isExact = true;
  let next: ProviderData | undefined;
  let id: string | undefined;
  for (const block of content) {
    if (block.type === "opaque") {
      const kept = keptIn(block, origin);
      if (kept === undefined || !isExact) continue;
      if ("next" in kept) [next, id] = [kept.next, kept.toolCallId];
      else if ("part" in kept) parts.push(revived(kept.part));
      else denied.push({ type: "tool-approval-response", approvalId: kept.approvalId, approved: false, reason });
      continue;
    }
    if (block.type === "thinking") {
      const providerOptions = block.signature === undefined ? undefined : (JSON.parse(block.signature) as ProviderData);
      if (isExact && isOwn(block, origin)) parts.push({ type: "reasoning", text: block.text, providerOptions });
      continue;
    }
    const providerOptions = next;
    if (block.type === "tool_call") {
      const call = { toolCallId: id ?? block.callId, toolName: block.name };
      calls.set(block.callId, call);
      // A call without data of its own is sent with an id of our own.
      isExact &&= id !== undefined;
      parts.push({ type: "tool-call", ...call, input: JSON.parse(block.inputJson), providerOptions });
    } else if (block.text.trim() !== "") parts.push({ type: "text", text: block.text, providerOptions });
    else isExact = false;
    [next, id] = [undefined, undefined];
  }
  // Providers refuse an empty message, and some refuse one with nothing but reasoning.
  if (parts.every(({ type }) => type === "reasoning")) parts.push({ type: "text", text: "(no text)" });
  const answer: PromptMessage = { role: "assistant", content: parts };
  return denied.length === 0 ? [answer] : [answer, { role: "tool", content: denied }];
}

const reason = "Calls that a provider executes itself can't be approved here.";

/** Returns a stored part with its URL as an object, as it was when the model wrote it. */
function revived(part: PromptPart): PromptPart {
  const data = part["data"] as { readonly type?: unknown; readonly url?: unknown } | string | undefined;
  if (typeof data !== "object" || data.type !== "url") return part;
  return { ...part, data: { ...data, url: new URL(String(data.url)) } };
}
