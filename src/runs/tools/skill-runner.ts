import type { SkillRunner } from "../../ports/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { startAgent, waitingLimits } from "./task.ts";

/** Creates the runner for skills that run as subagents, which are started like those of Task calls. */
export function createSkillRunner(dispatcher: Dispatcher): SkillRunner {
  return {
    limits: waitingLimits,
    run: async ({ name, prompt, fork: { agent: agentType, model } }, context) => {
      const { agentId } = context;
      // The main agent may delegate in general, but its pool may lack Task.
      const hasTask = dispatcher.registry.live.get(agentId)?.agent.policy.pool.includes("Task");
      if (!hasTask || !dispatcher.mayDelegate(agentId)) return undefined;
      const request = { agentType, description: `Skill ${name}`, prompt, background: false, model };
      return startAgent(dispatcher, { request, context });
    },
  };
}
