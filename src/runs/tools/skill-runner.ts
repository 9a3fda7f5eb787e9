import type { SkillRunner } from "../../ports/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { refused, startAgent, waitingLimits } from "./task.ts";
import { readRequest } from "./task-spec.ts";

/** Creates the runner for skills that run as subagents, which are started in the same way as those that Task starts. */
export function createSkillRunner(dispatcher: Dispatcher): SkillRunner {
  return {
    limits: waitingLimits,
    run: async ({ name, prompt, fork: { agent: agentType, model } }, context) => {
      const { agentId, callId } = context;
      const live = dispatcher.registry.live.get(agentId);
      // The main agent may delegate in general, but its pool may lack Task.
      if (!live?.agent.policy.pool.includes("Task") || !dispatcher.mayDelegate(agentId)) return undefined;
      const description = `Skill ${name}`;
      const input = { description, prompt, subagent_type: agentType, ...(model === undefined ? {} : { model }) };
      // A hook for Task applies to every way of starting an agent.
      const outcome = await live.beforeCall({ tool_name: "Task", tool_input: input, tool_use_id: callId });
      if (outcome?.decision === "deny" || outcome?.decision === "ask") {
        const what = outcome.decision === "deny" ? "A hook denied this call" : "A hook requires approval for Task";
        return refused(agentType, `${what}${outcome.reason === undefined ? "." : `: ${outcome.reason}`}`);
      }
      const request = { ...readRequest(outcome?.input ?? input, false), background: false };
      return startAgent(dispatcher, { request, context });
    },
  };
}
