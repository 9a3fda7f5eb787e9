import type { SkillRunner, Tool, ToolContext, ToolOutput, ToolSpec } from "../../ports/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { MAY_NOT_DELEGATE } from "../subagents/task-text.ts";
import { createAskUserQuestion } from "./ask-user-question.ts";
import { createEnterPlanMode, createExitPlanMode } from "./plan-tools.ts";
import { createSendMessage, sendMessageSpec } from "./send-message.ts";
import { createTask, refused, startAgent, waitingLimits } from "./task.ts";
import { createTaskOutput, taskOutputSpec } from "./task-output.ts";
import { type DelegationOffer, readRequest, taskSpec } from "./task-spec.ts";
import { createTaskStop, taskStopSpec } from "./task-stop.ts";

/**
 * Returns the specs of the delegation tools in the order in which they are declared. The same offer always produces the
 * same bytes.
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

/** Creates the runner for skills that run as subagents. */
export function createSkillRunner(dispatcher: Dispatcher): SkillRunner {
  return {
    limits: waitingLimits,
    run: ({ name, prompt, fork }, context) =>
      startForTool(dispatcher, { description: `Skill ${name}`, prompt, ...fork }, context),
  };
}

/** An agent that the model can call as a separate tool. */
export interface AgentToolSpec {
  readonly name: string;
  readonly description: string;
  readonly agent: string;
}

/** Creates a tool that starts an agent and returns its report. */
export function createAgentTool(dispatcher: Dispatcher, { name, description, agent }: AgentToolSpec): Tool {
  return {
    declaration: { name, description, inputSchema: agentInput },
    traits: { parallel: true, effects: false, resumable: true },
    ...waitingLimits,
    accesses: async (input, agentId) => {
      const request = readRequest({ ...input, description: name, subagent_type: agent }, false);
      if (agentId === undefined) return { ok: true, accesses: [{ kind: "agent", agentType: agent }] };
      return { ok: true, accesses: [await dispatcher.wanted(request, agentId)] };
    },
    run: async (input, context) => {
      const start = { description: name, prompt: String(input["prompt"]), agent };
      return (await startForTool(dispatcher, start, context)) ?? refused(agent, MAY_NOT_DELEGATE);
    },
  };
}

const agentInput = {
  type: "object",
  properties: {
    prompt: { type: "string", description: "What to do, with everything the agent must know: it sees nothing else." },
  },
  required: ["prompt"],
};

interface StartForTool {
  readonly description: string;
  readonly prompt: string;
  readonly agent: string;
  readonly model?: string | undefined;
  readonly background?: boolean | undefined;
}

/**
 * Starts an agent for a tool other than Task, in the same way as Task does, and waits for its report unless it works in
 * the background. Returns undefined if the calling agent can't start agents.
 */
async function startForTool(
  dispatcher: Dispatcher,
  { description, prompt, agent, model, background }: StartForTool,
  context: ToolContext,
): Promise<ToolOutput | undefined> {
  const { agentId, callId } = context;
  const live = dispatcher.registry.live.get(agentId);
  // The main agent may delegate in general, but its pool may lack Task.
  if (!live?.agent.policy.pool.includes("Task") || !dispatcher.mayDelegate(agentId)) return undefined;
  const input = {
    ...{ description, prompt, subagent_type: agent },
    ...(model === undefined ? {} : { model }),
    ...(background === true ? { run_in_background: true } : {}),
  };
  // A hook for Task applies to every way of starting an agent.
  const outcome = await live.beforeCall({ tool_name: "Task", tool_input: input, tool_use_id: callId });
  if (outcome?.decision === "deny" || outcome?.decision === "ask") {
    const what = outcome.decision === "deny" ? "A hook denied this call" : "A hook requires approval for Task";
    return refused(agent, `${what}${outcome.reason === undefined ? "." : `: ${outcome.reason}`}`);
  }
  return startAgent(dispatcher, { request: readRequest(outcome?.input ?? input, false), context });
}
