import type { Tool } from "../../ports/index.ts";
import { type AgentId, MAIN_AGENT } from "../../protocol/index.ts";
import type { LiveAgent } from "../host/run-host.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { speaksToFork } from "../subagents/forks.ts";

/** Asks who calls, whatever policy the call came with. */
export function forDelegators(dispatcher: Dispatcher, tool: Tool): Tool {
  return {
    ...tool,
    run: async (input, context) => {
      if (mayDelegate(dispatcher, context.agentId)) return tool.run(input, context);
      return { content: `${tool.declaration.name} is not for this agent: ${notADelegator}`, isError: true };
    },
  };
}

/** The main agent, and who was given Task for its place in the tree and still has it. */
export function mayDelegate(dispatcher: Dispatcher, agentId: AgentId): boolean {
  if (agentId === MAIN_AGENT) return true;
  const live = dispatcher.registry.live.get(agentId);
  return (
    live !== undefined &&
    !isFork(dispatcher, live) &&
    dispatcher.policyOf(agentId, live.agent.policy).pool.includes("Task")
  );
}

/** Its record says so; where that was lost, its conversation does. */
function isFork(dispatcher: Dispatcher, { agentId, thread }: LiveAgent): boolean {
  return (
    dispatcher.registry.known(agentId)?.fork?.kind === "fork" || speaksToFork(thread.conversation?.messages() ?? [])
  );
}

export const notADelegator = "only agents that may delegate start, resume, stop and look after others.";
