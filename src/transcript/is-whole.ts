import type { DurableEvent, EventOf, Line } from "../protocol/index.ts";

/**
 * Whether a line has what its type needs: one flipped byte may have changed the name of a member and left good JSON.
 * Types and members this version does not know are none of its business.
 */
export function isWhole(line: Line): boolean {
  const needed: Readonly<Record<string, Kind>> | undefined = Object.hasOwn(members, line.type)
    ? members[line.type]
    : undefined;
  for (const name in needed) if (!isOf[needed[name] as Kind]((line as unknown as Unknown)[name])) return false;
  return true;
}

type Kind = "text" | "number" | "object" | "list" | "blocks" | "content";
type Unknown = Readonly<Record<string, unknown>>;

const isOf: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  text: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  object: isObject,
  list: Array.isArray,
  blocks: isBlocks,
  content: (value) => isObject(value) && isBlocks(value["content"]),
};

function isObject(value: unknown): value is Unknown {
  return typeof value === "object" && value !== null;
}

function isBlocks(value: unknown): boolean {
  return Array.isArray(value) && value.every(isBlock);
}

function isBlock(value: unknown): boolean {
  if (!isObject(value) || typeof value["type"] !== "string") return false;
  const needed = Object.hasOwn(texts, value["type"]) ? texts[value["type"]] : undefined;
  return needed === undefined || needed.every((name) => typeof value[name] === "string");
}

const texts: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  thinking: ["text"],
  opaque: ["json"],
  image: ["mediaType", "data"],
  tool_call: ["callId", "name", "inputJson"],
};

/** Only what somebody could not do without. */
const members: { readonly [T in DurableEvent["type"]]?: { readonly [M in keyof EventOf<T>]?: Kind } } = {
  "agent.created": { agentId: "text", agentType: "text", description: "text", parent: "object", depth: "number" },
  "agent.spawned": { callId: "text", agentId: "text" },
  "agent.resumed": { callId: "text", agentId: "text", runId: "text" },
  "run.started": { runId: "text", agentId: "text", agentType: "text", model: "text", maxTurns: "number" },
  "run.backgrounded": { runId: "text" },
  "head.set": { hash: "text" },
  "prompt.received": { content: "blocks" },
  "context.added": { text: "text" },
  "notices.delivered": { notices: "list", text: "text" },
  "model.requested": { turn: "number" },
  "spend.reserved": { request: "text", reserved: "object" },
  "spend.recorded": { usage: "object" },
  "model.retried": { turn: "number", retry: "object" },
  "model.ended": { turn: "number", message: "content", usage: "object", milliseconds: "number" },
  "model.failed": { turn: "number", error: "object", partial: "blocks", milliseconds: "number" },
  "tool.requested": { callId: "text", name: "text" },
  "approval.requested": { requestId: "text", callId: "text", name: "text", inputJson: "text" },
  "approval.answered": { requestId: "text", callId: "text", answer: "text" },
  "tool.started": { callId: "text" },
  "tool.ended": { callId: "text", name: "text", result: "content" },
  "conversation.compacted": { summary: "text", kept: "number" },
  "notice.raised": { code: "text", message: "text" },
  "run.ended": { runId: "text", reason: "text", text: "text", usage: "object", facts: "object" },
  "acceptance.checked": { runId: "text" },
  "run.cleaned": { runId: "text" },
};
