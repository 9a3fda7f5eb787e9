import type { Tool, ToolFace } from "../../ports/index.ts";
import type { Dispatcher } from "../dispatcher.ts";
import { unknownId } from "./task.ts";

export function createTaskStop(dispatcher: Dispatcher): Omit<Tool, keyof ToolFace> {
  return {
    run: async (input, { agentId: caller }) => {
      const id = String(input["task_id"]);
      const record = await dispatcher.find(id, caller);
      if (record === undefined) return { content: await unknownId(dispatcher, id, caller), isError: true };
      const { agentId } = record;
      const stopped = await dispatcher.stop(agentId);
      const content = stopped
        ? `Agent ${agentId} was stopped after ${stopped.end.turns} turns. What it did stays; Task with resume: "${agentId}" goes on with it.`
        : `Agent ${agentId} does not run; there was nothing to stop.`;
      return { content, details: { agentId, stopped: stopped !== undefined } };
    },
  };
}
