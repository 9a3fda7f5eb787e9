import type { SkillRunner } from "../../ports/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { startAgent, waitingLimits } from "./task.ts";

/** Creates the runner of skills that run as subagents. They start like the agents of Task calls. */
export function createSkillRunner(dispatcher: Dispatcher): SkillRunner {
  return {
    limits: waitingLimits,
    run: async ({ name, prompt, fork: { agent: agentType, model } }, context) => {
      const { agentId } = context;
      // The main agent may delegate, but Task may have been taken from it.
      const hasTask = dispatcher.registry.live.get(agentId)?.agent.policy.pool.includes("Task");
      if (!hasTask || !dispatcher.mayDelegate(agentId)) return undefined;
      const request = { agentType, description: `Skill ${name}`, prompt, background: false, model };
      return startAgent(dispatcher, { request, context });
    },
  };
}
