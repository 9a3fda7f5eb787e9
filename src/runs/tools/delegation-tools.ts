import type { SkillRunner, Tool, ToolSpec } from "../../ports/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { createAskUserQuestion } from "./ask-user-question.ts";
import { createEnterPlanMode, createExitPlanMode } from "./plan-tools.ts";
import { createSendMessage, sendMessageSpec } from "./send-message.ts";
import { createTask, refused, startAgent, waitingLimits } from "./task.ts";
import { createTaskOutput, taskOutputSpec } from "./task-output.ts";
import { type DelegationOffer, readRequest, taskSpec } from "./task-spec.ts";
import { createTaskStop, taskStopSpec } from "./task-stop.ts";

/**
 * Returns the specs of the delegation tools in the order in which they are declared. The same offer gives the same
 * bytes.
 */
export function delegationSpecs(offer: DelegationOffer): readonly ToolSpec[] {
  return [taskSpec(offer), ...(offer.background ? [taskOutputSpec, taskStopSpec, sendMessageSpec] : [])];
}

const creators: Readonly<Record<string, (dispatcher: Dispatcher, spec: ToolSpec) => Tool>> = {
  Task: createTask,
  TaskOutput: createTaskOutput,
  TaskStop: createTaskStop,
  SendMessage: createSendMessage,
  EnterPlanMode: createEnterPlanMode,
  ExitPlanMode: createExitPlanMode,
  AskUserQuestion: (_, spec) => createAskUserQuestion(spec),
};

/** Creates the tools for the given specs. */
export function delegationTools(dispatcher: Dispatcher, specs: readonly ToolSpec[]): readonly Tool[] {
  return specs.flatMap((spec) => creators[spec.declaration.name]?.(dispatcher, spec) ?? []);
}

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
