import type { Tool, ToolSpec } from "../../ports/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { forDelegators } from "./may-delegate.ts";
import { createEnterPlanMode, createExitPlanMode } from "./plan-tools.ts";
import { createSendMessage } from "./send-message.ts";
import { createTask } from "./task.ts";
import { takingAnyName } from "./task-input.ts";
import { createTaskOutput, takingOffset } from "./task-output.ts";
import { createTaskStop } from "./task-stop.ts";

const makers: Readonly<Record<string, (dispatcher: Dispatcher, spec: ToolSpec) => Tool>> = {
  Task: (dispatcher, spec) => forDelegators(dispatcher, { ...takingAnyName(spec), ...createTask(dispatcher) }),
  TaskOutput: (dispatcher, spec) =>
    forDelegators(dispatcher, { ...takingOffset(spec), ...createTaskOutput(dispatcher) }),
  TaskStop: (dispatcher, spec) => forDelegators(dispatcher, { ...spec, ...createTaskStop(dispatcher) }),
  SendMessage: (dispatcher, spec) => ({ ...spec, ...createSendMessage(dispatcher) }),
  EnterPlanMode: (dispatcher, spec) => ({ ...spec, ...createEnterPlanMode(dispatcher) }),
  ExitPlanMode: (dispatcher, spec) => ({ ...spec, ...createExitPlanMode(dispatcher) }),
};

/** Creates the tools whose specs were declared. */
export function delegationTools(dispatcher: Dispatcher, specs: readonly ToolSpec[]): readonly Tool[] {
  return specs.flatMap((spec) => makers[spec.declaration.name]?.(dispatcher, spec) ?? []);
}
