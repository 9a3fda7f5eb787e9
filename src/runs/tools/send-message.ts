import { judgeAgent } from "../../agents/index.ts";
import type { Tool, ToolContext, ToolOutput, ToolSpec } from "../../ports/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import type { Subagent } from "../subagents/subagent.ts";
import { MAY_NOT_DELEGATE, unknownAgentText } from "../subagents/task-text.ts";

export const sendMessageSpec: ToolSpec = {
  declaration: {
    name: "SendMessage",
    description:
      "Sends a message to a subagent. A running background agent reads it before its next step. An agent that has ended is resumed with the message in the background; to wait for its report instead, use Task with resume. The agent answers in its report.",
    inputSchema: {
      type: "object",
      properties: {
        to: { type: "string", description: "Id or name of the agent." },
        message: { type: "string", minLength: 1, description: "What to tell it." },
      },
      required: ["to", "message"],
    },
  },
  traits: { parallel: true, effects: false },
};

export function createSendMessage(dispatcher: Dispatcher, spec: ToolSpec): Tool {
  const { registry } = dispatcher;
  return {
    ...spec,
    run: async (input, context): Promise<ToolOutput> => {
      const to = String(input["to"]);
      const prompt = String(input["message"]);
      const { agentId: sender } = context;
      const subagent = await registry.find(to);
      if (subagent === undefined) return failed(unknownAgentText(to, await registry.all(sender), sender));
      const { agentId } = subagent;
      const problem = whyUnreachable(dispatcher, agentId);
      if (problem !== undefined) return failed(`Agent ${agentId} ${problem}`);
      const isOwn = (await registry.find(agentId, sender)) !== undefined;
      const about = isOwn ? undefined : await senderText(dispatcher, sender);
      const content = [{ type: "text", text: prompt }] as const;
      if (await registry.live.get(agentId)?.tell({ content, from: "agent" }, about))
        return {
          content: `Agent ${agentId} will read the message before its next step.`,
          details: { agentId, delivered: true },
        };
      const refusal = await refusalToResume(subagent, dispatcher, context);
      return refusal === undefined ? resume(agentId, { dispatcher, prompt, context }) : failed(refusal);
    },
  };
}

function whyUnreachable(dispatcher: Dispatcher, agentId: AgentId): string | undefined {
  if (dispatcher.registry.isWaitedFor(agentId))
    return "can't receive messages while its caller is waiting for its report.";
  // The agent may be waiting for the slot that the sender occupies.
  return dispatcher.registry.live.get(agentId)?.isQueued()
    ? "has not started yet: it is waiting for other agents to end. Send the message later."
    : undefined;
}

/** Names the sender of a message, so that the recipient does not mistake the sender for its parent. */
async function senderText({ registry }: Dispatcher, sender: AgentId): Promise<string> {
  const { agentType, name } = (await registry.find(sender)) ?? {};
  const label = [agentType, name && `called ${name}`].filter(Boolean).join(", ");
  return `The next message comes from agent ${sender} (${label}), which is not your parent.`;
}

/**
 * Returns the reason if the agent may not be resumed. A message to an agent that has ended resumes it, so the rules for
 * Task apply.
 */
async function refusalToResume(
  { agentId, agentType }: Subagent,
  dispatcher: Dispatcher,
  context: ToolContext,
): Promise<string | undefined> {
  const ended = `Agent ${agentId} has ended and can't receive messages`;
  const caller = dispatcher.registry.live.get(context.agentId);
  if (caller === undefined || !dispatcher.mayDelegate(context.agentId)) return `${ended}: ${MAY_NOT_DELEGATE}`;
  if ((await dispatcher.registry.find(agentId, context.agentId)) === undefined)
    return `${ended}: only the agents above it can resume it.`;
  const { models } = await dispatcher.wanted({ agentType }, context.agentId, agentId);
  const { effect, rule, scope } = judgeAgent(agentType, caller.agent.policy, models);
  if (effect === "deny") return `Agent ${agentId} can't be resumed: the ${scope} rule ${rule} denies it.`;
  return effect === "ask"
    ? `${ended}: the rule ${rule} requires approval. Use Task with resume: "${agentId}" and subagent_type: "${agentType}", so that the user can be asked.`
    : undefined;
}

async function resume(
  agentId: AgentId,
  {
    dispatcher,
    prompt,
    context,
  }: { readonly dispatcher: Dispatcher; readonly prompt: string; readonly context: ToolContext },
): Promise<ToolOutput> {
  const outcome = await dispatcher.resume(agentId, { prompt, background: true }, context);
  if (outcome.status === "refused") return failed(outcome.message);
  return {
    content: `Agent ${agentId} had ended. It was resumed with your message and is running in the background.`,
    details: { agentId },
    facts: { launched: outcome.status === "launched" ? outcome.notice : undefined },
  };
}

function failed(content: string): ToolOutput {
  return { content, isError: true };
}
