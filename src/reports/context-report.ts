import { estimateTokens } from "../lib/index.ts";
import { expectedTokens, sizeOf, userTurn } from "../loop/index.ts";
import {
  type AgentId,
  type AssistantBlock,
  type CallId,
  type ContextReport,
  callsOf,
  type EventOf,
  type Head,
  isRuntimeText,
  type Line,
  MAIN_AGENT,
  type Message,
  type UserBlock,
} from "../protocol/index.ts";
import { Thread } from "../runs/index.ts";
import { asJournal, type RecordedSession } from "./recorded-journal.ts";

/** Reports what fills an agent's context window. Returns undefined if the agent has made no request. */
export async function reportContext(
  session: RecordedSession,
  agentId: AgentId = MAIN_AGENT,
): Promise<ContextReport | undefined> {
  const journal = asJournal(session);
  const lines = await journal.read(agentId);
  const thread = new Thread(agentId, journal);
  await thread.restore({ lines });
  const { conversation, state } = thread;
  if (conversation === undefined || state.turn === 0) return undefined;
  const { head } = conversation;
  const turn = userTurn(state);
  const sizes = new Map(headSizes(head));
  const messages = [...conversation.messages(), ...(turn ? [turn] : [])];
  const known = { tools: toolsOfCalls(messages), prompts: promptsIn(lines) };
  for (const { role, content } of messages)
    for (const block of content) {
      const kind = kindOf(block, role, known);
      sizes.set(kind, (sizes.get(kind) ?? 0) + sizeOf({ role, content: [block] } as Message));
    }
  const total = sum(sizes.values());
  const used = expectedTokens(state.context, { headTokens: sum(headSizes(head).map(([, size]) => size)) }, turn);
  const parts = [...sizes].flatMap(([name, size]) =>
    size === 0 ? [] : [{ name, tokens: Math.round((size / total) * used) }],
  );
  const { model, window } = newestRun(lines) ?? { model: head.model, window: undefined };
  return {
    agentId,
    model,
    window,
    used,
    parts: parts.sort((left, right) => right.tokens - left.tokens),
  };
}

function newestRun(lines: readonly Line[]): EventOf<"run.started"> | undefined {
  return lines.findLast((line): line is Line & EventOf<"run.started"> => line.type === "run.started");
}

function headSizes({ tools, system, systemContext, userContext }: Head): readonly [string, number][] {
  return [
    ["tools", estimateTokens(JSON.stringify(tools))],
    ["system prompt", estimateTokens(system) + estimateTokens(systemContext)],
    ["project instructions", estimateTokens(userContext)],
  ];
}

/** Returns the tool names by call id. */
function toolsOfCalls(messages: readonly Message[]): ReadonlyMap<CallId, string> {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? callsOf(message) : []));
  return new Map(calls.map(({ callId, name }) => [callId, name]));
}

/** Returns the text of each prompt that the agent received. */
function promptsIn(lines: readonly Line[]): ReadonlySet<string> {
  const blocks = lines.flatMap((line) => (line.type === "prompt.received" ? line.content : []));
  return new Set(blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])));
}

interface KnownBlocks {
  readonly tools: ReadonlyMap<CallId, string>;
  readonly prompts: ReadonlySet<string>;
}

function kindOf(block: UserBlock | AssistantBlock, role: Message["role"], { tools, prompts }: KnownBlocks): string {
  switch (block.type) {
    case "tool_result":
      return `results of ${tools.get(block.callId) ?? "tools"}`;
    case "tool_call":
      return "tool calls";
    case "thinking":
    case "opaque":
      return "thinking";
    case "image":
      return "images";
    case "text":
      if (role === "assistant") return "responses";
      // The prompts that a fork inherits are in its parent's transcript.
      return isNote(block.text, prompts) ? "notes from Retinue" : "prompts";
  }
}

/** Returns whether Retinue wrote a text. In transcripts of earlier versions, such text is in square brackets. */
function isNote(text: string, prompts: KnownBlocks["prompts"]): boolean {
  return isRuntimeText(text) || (text.startsWith("[") && !prompts.has(text));
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
