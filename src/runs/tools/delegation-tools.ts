import type { Tool, ToolFace } from "../../ports/index.ts";
import type { Dispatcher } from "../dispatcher.ts";
import { createSendMessage } from "./send-message.ts";
import { createTask } from "./task.ts";
import { createTaskOutput } from "./task-output.ts";
import { createTaskStop } from "./task-stop.ts";

const makers: Readonly<Record<string, (dispatcher: Dispatcher) => Omit<Tool, keyof ToolFace>>> = {
  Task: createTask,
  TaskOutput: createTaskOutput,
  TaskStop: createTaskStop,
  SendMessage: createSendMessage,
};

/** The tools behind the faces that were declared. */
export function delegationTools(dispatcher: Dispatcher, faces: readonly ToolFace[]): readonly Tool[] {
  return faces.flatMap((face) => {
    const make = makers[face.declaration.name];
    return make ? [{ ...face, ...make(dispatcher) }] : [];
  });
}
