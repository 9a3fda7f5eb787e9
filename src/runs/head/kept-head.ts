import { denialOf, type ResolvedAgent } from "../../agents/index.ts";
import { continuedHead, headFingerprints, isSameModel } from "../../conversation/index.ts";
import {
  canonicalToolName,
  type DurableEvent,
  type EventOf,
  type HeadReason,
  type Rule,
} from "../../protocol/index.ts";
import type { RunHost } from "../host/run-host.ts";
import type { Thread } from "../thread/thread.ts";
import { headChanges } from "./head-changes.ts";

/**
 * Returns the agent with the head of its conversation, because providers cache requests by their beginning and accept
 * thinking only after the bytes that it was written after. The agent then can't call tools that this head does not
 * declare; its subagents can. An agent whose conversation is empty, or that takes over another agent's conversation,
 * keeps its own head.
 */
export function withKeptHead(agent: ResolvedAgent, thread: Thread): ResolvedAgent {
  const { conversation, headHash, agentType } = thread;
  if (headHash === undefined || conversation === undefined || conversation.length === 0) return agent;
  if (agentType !== agent.agentType) return agent;
  const head = continuedHead(conversation.head, agent.head);
  if (head === agent.head) return agent;
  const { policy, childPolicy = policy } = agent;
  const pool = policy.pool.filter((tool) => head.tools.some(({ name }) => name === tool));
  if (pool.length === policy.pool.length) return { ...agent, head };
  return { ...agent, head, policy: { ...policy, pool }, childPolicy };
}

/** Returns the agent without the tools that rules deny now. */
export function withoutDenied(agent: ResolvedAgent, rules: readonly Rule[]): ResolvedAgent {
  const { head } = agent;
  const tools = head.tools.filter(({ name }) => denialOf(name, rules) === undefined);
  return tools.length === head.tools.length ? agent : { ...agent, head: { ...head, tools } };
}

/** Returns a line with the head of the run's requests if it differs from that of the requests so far. */
export async function headEvents({ thread, request }: RunHost): Promise<EventOf<"head.set">[]> {
  const { head } = request.agent;
  const hash = await thread.keepHead(head);
  if (hash === thread.headHash && !thread.isNew) return [];
  return [{ type: "head.set", hash, reason: reasonFor(thread, request), dimensions: headFingerprints(head) }];
}

function reasonFor(thread: Thread, { agent, subagent }: RunHost["request"]): HeadReason {
  const { isNew, headHash, conversation, agentType } = thread;
  if (isNew) return subagent?.spec.fork ? "fork" : "start";
  if (headHash === undefined || conversation === undefined) return "missing";
  if (conversation.length === 0) return "start";
  if (!isSameModel(conversation.head, agent.head)) return "model";
  return agentType === agent.agentType ? "settings" : "agent";
}

/**
 * Returns lines that tell the agent and the user what a new conversation would have in its head that this one lacks,
 * except for what the conversation already contains.
 */
export async function headNews(
  { thread, request, fresh }: RunHost,
  newHead: readonly EventOf<"head.set">[],
): Promise<DurableEvent[]> {
  const declared = request.agent.head;
  const now = fresh.head;
  const { toldHead } = thread.state;
  if (declared === now && toldHead === undefined) return [];
  // A conversation that is about to be compacted gets a new head, too.
  if (newHead.some(({ reason }) => reason !== "settings") || request.compaction) return [];
  const told = (toldHead === undefined ? undefined : await thread.storedHead(toldHead)) ?? declared;
  const { text, newTools } = headChanges({ declared, told, now });
  if (text === undefined) return [];
  const head = await thread.keepHead(now);
  const remedy = request.subagent
    ? "To use them, start another agent."
    : "To use them, start a new session, or compact this one with /compact.";
  const message = `New tools can't be used in this conversation: ${newTools.join(", ")}. ${remedy}`;
  return [
    ...(newTools.length === 0 ? [] : [{ type: "notice.raised", code: "tools", message } as const]),
    { type: "context.added", cause: "changes", text, head },
  ];
}

/** Returns a line with the head of a new conversation, for a conversation that has just been compacted. */
export async function headAfterCompaction({ thread, fresh: { head } }: RunHost): Promise<DurableEvent[]> {
  const hash = await thread.keepHead(head);
  if (hash === thread.headHash) return [];
  return [{ type: "head.set", hash, reason: "compaction", dimensions: headFingerprints(head) }];
}

/** Returns why a tool that the conversation declares can't be called any more. Undefined if it can be called. */
export function goneTool({ request, fresh }: RunHost, toolName: string): string | undefined {
  const name = canonicalToolName(toolName);
  const isDeclared = (tools: readonly { readonly name: string }[]) => tools.some((tool) => tool.name === name);
  if (!isDeclared(request.agent.head.tools) || isDeclared(fresh.head.tools)) return undefined;
  return `${name} is no longer available: it was removed or denied after this conversation began. Continue without it.`;
}
