import type { Tool, ToolFace, ToolOutput } from "../../ports/index.ts";
import type { Dispatcher } from "../dispatcher.ts";
import { mayDelegate, notADelegator } from "./for-delegators.ts";
import { unknownId } from "./task.ts";

export function createSendMessage(dispatcher: Dispatcher): Omit<Tool, keyof ToolFace> {
  return {
    run: async (input, context): Promise<ToolOutput> => {
      const to = String(input["to"]);
      const prompt = String(input["message"]);
      const record = await dispatcher.find(to);
      if (record === undefined) return { content: await unknownId(dispatcher, to), isError: true };
      const { agentId, agentType, description } = record;
      if (await dispatcher.tell(agentId, prompt))
        return { content: `Agent ${agentId} will read it at its next step.`, details: { agentId, delivered: true } };
      if (!mayDelegate(dispatcher, context.agentId))
        return { content: `Agent ${agentId} has ended and can't be told anything: ${notADelegator}`, isError: true };
      if (record.end?.reason === "stopped")
        return {
          content: `Agent ${agentId} was stopped. Use Task with resume: "${agentId}" to go on with it.`,
          isError: true,
        };
      const wish = { agentType, description, prompt, background: true };
      const delegated = await dispatcher.resume(agentId, wish, context);
      if (delegated.status === "refused") return { content: delegated.message, isError: true };
      const launched = delegated.status === "launched" ? { facts: { launched: delegated.notice } } : {};
      return {
        content: `Agent ${agentId} had ended and goes on with it in the background.`,
        details: { agentId },
        ...launched,
      };
    },
  };
}
