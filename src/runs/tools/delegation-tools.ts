import type { Tool, ToolSpec } from "../../ports/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { createAskUserQuestion } from "./ask-user-question.ts";
import { createEnterPlanMode, createExitPlanMode } from "./plan-tools.ts";
import { createSendMessage, sendMessageSpec } from "./send-message.ts";
import { createTask } from "./task.ts";
import { createTaskOutput, taskOutputSpec } from "./task-output.ts";
import { type DelegationOffer, taskSpec } from "./task-spec.ts";
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
