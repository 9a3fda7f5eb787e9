import type { Tool, ToolFace } from "../../ports/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { forDelegators } from "./may-delegate.ts";
import { createEnterPlanMode, createExitPlanMode } from "./plan-tools.ts";
import { createSendMessage } from "./send-message.ts";
import { createTask } from "./task.ts";
import { takingAnyName } from "./task-input.ts";
import { createTaskOutput, takingOffset } from "./task-output.ts";
import { createTaskStop } from "./task-stop.ts";

const makers: Readonly<Record<string, (dispatcher: Dispatcher, face: ToolFace) => Tool>> = {
  Task: (dispatcher, face) => forDelegators(dispatcher, { ...takingAnyName(face), ...createTask(dispatcher) }),
  TaskOutput: (dispatcher, face) =>
    forDelegators(dispatcher, { ...takingOffset(face), ...createTaskOutput(dispatcher) }),
  TaskStop: (dispatcher, face) => forDelegators(dispatcher, { ...face, ...createTaskStop(dispatcher) }),
  SendMessage: (dispatcher, face) => ({ ...face, ...createSendMessage(dispatcher) }),
  EnterPlanMode: (dispatcher, face) => ({ ...face, ...createEnterPlanMode(dispatcher) }),
  ExitPlanMode: (dispatcher, face) => ({ ...face, ...createExitPlanMode(dispatcher) }),
};

/** The tools behind the faces that were declared. */
export function delegationTools(dispatcher: Dispatcher, faces: readonly ToolFace[]): readonly Tool[] {
  return faces.flatMap((face) => makers[face.declaration.name]?.(dispatcher, face) ?? []);
}
