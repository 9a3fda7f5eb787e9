import { judgeAgent } from "../../agents/index.ts";
import type { Tool, ToolContext, ToolOutput, ToolSpec } from "../../ports/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import type { Subagent } from "../subagents/subagent.ts";
import { neutral } from "../subagents/task-text.ts";
import { mayDelegate, notADelegator } from "./may-delegate.ts";
import { unknownId } from "./task.ts";

export function createSendMessage(dispatcher: Dispatcher): Omit<Tool, keyof ToolSpec> {
  return {
    run: async (input, context): Promise<ToolOutput> => {
      const to = String(input["to"]);
      const prompt = String(input["message"]);
      const subagent = await dispatcher.registry.find(to);
      if (subagent === undefined) return failed(await unknownId(dispatcher, to, context.agentId));
      const { agentId } = subagent;
      const deafness = whyDeaf(dispatcher, agentId);
      if (deafness !== undefined) return failed(`Agent ${agentId} ${deafness}`);
      const isOwn = (await dispatcher.registry.find(agentId, context.agentId)) !== undefined;
      const words = isOwn ? prompt : await wordsBeside(dispatcher, prompt, context.agentId);
      if (await dispatcher.registry.live.get(agentId)?.tell(words))
        return { content: `Agent ${agentId} will read it at its next step.`, details: { agentId, delivered: true } };
      const refusal = await refusalToWake(subagent, { dispatcher, context });
      return refusal === undefined ? wake(subagent, { dispatcher, prompt, context }) : failed(refusal);
    },
  };
}

function whyDeaf(dispatcher: Dispatcher, agentId: AgentId): string | undefined {
  if (dispatcher.registry.isWaitedFor(agentId))
    return "is waited for by who started it, and is told nothing more until it has reported.";
  // Its place may be that of who speaks.
  return dispatcher.registry.live.get(agentId)?.isQueued()
    ? "has not begun: it waits until others have ended. Tell it later."
    : undefined;
}

/** Nobody shall take a neighbour for who gave it its work. */
async function wordsBeside(dispatcher: Dispatcher, message: string, sender: AgentId): Promise<string> {
  const { agentType, name } = (await dispatcher.registry.find(sender)) ?? {};
  const who = neutral([agentType, name && `called ${name}`].filter(Boolean).join(", "));
  return `[From agent ${sender} (${who}), which you do not work for:]\n${neutral(message)}`;
}

interface Waking {
  readonly dispatcher: Dispatcher;
  readonly context: ToolContext;
}

/** To wake an agent is to launch it: the same callers may, and the same rules are asked. */
async function refusalToWake(
  { agentId, agentType, end }: Subagent,
  { dispatcher, context }: Waking,
): Promise<string | undefined> {
  const ended = `Agent ${agentId} has ended and can't be told anything`;
  const caller = dispatcher.registry.live.get(context.agentId);
  if (caller === undefined || !mayDelegate(dispatcher, context.agentId)) return `${ended}: ${notADelegator}`;
  if ((await dispatcher.registry.find(agentId, context.agentId)) === undefined)
    return `${ended}: only who started it, or who is above, goes on with it.`;
  const { effect, rule, scope } = judgeAgent(agentType, caller.agent.policy);
  if (effect === "deny") return `Agent ${agentId} can't go on: the ${scope} rule ${rule} denies it.`;
  const cure = `Use Task with resume: "${agentId}" and subagent_type: "${agentType}"`;
  if (effect === "ask") return `${ended}: the rule ${rule} asks first. ${cure}, so that somebody can be asked.`;
  if (end?.reason !== "stopped") return undefined;
  const reason = `${agentType} ${agentId} was stopped, and a message would let it go on.`;
  const answer = await dispatcher.askAbout(context, { kind: "call", about: "wake", rule: "stopped agent", reason });
  return answer?.answer === "allow" ? undefined : `Agent ${agentId} was stopped. ${cure} to go on with it.`;
}

async function wake(
  { agentId }: Subagent,
  { dispatcher, prompt, context }: Waking & { readonly prompt: string },
): Promise<ToolOutput> {
  const outcome = await dispatcher.resume(agentId, { prompt, background: true }, context);
  if (outcome.status === "refused") return failed(outcome.message);
  const launched = outcome.status === "launched" ? { facts: { launched: outcome.notice } } : {};
  const content = `Agent ${agentId} had ended and goes on with it in the background.`;
  return { content, details: { agentId }, ...launched };
}

function failed(content: string): ToolOutput {
  return { content, isError: true };
}
