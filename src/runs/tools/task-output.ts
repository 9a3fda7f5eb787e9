import { withTimeLimit } from "../../lib/index.ts";
import type { Tool, ToolContext, ToolFace, ToolOutput } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { AgentRecord } from "../agent-record.ts";
import type { Dispatcher } from "../dispatcher.ts";
import { LONGEST_REPORT, resultText } from "../task-text.ts";
import { unknownId } from "./task.ts";

const usualWait = 30_000;

export function createTaskOutput(dispatcher: Dispatcher): Omit<Tool, keyof ToolFace> {
  return {
    timeoutMs: (input) => waitOf(input) + 5_000,
    maxCharacters: LONGEST_REPORT,
    run: async (input, context) => {
      const id = String(input["task_id"]);
      const record = await dispatcher.find(id);
      if (record === undefined) return { content: await unknownId(dispatcher, id), isError: true };
      return show(record, { dispatcher, input, context });
    },
  };
}

async function show(
  { agentId, agentType, description }: AgentRecord,
  {
    dispatcher,
    input,
    context,
  }: { readonly dispatcher: Dispatcher; readonly input: JsonObject; readonly context: ToolContext },
): Promise<ToolOutput> {
  const isRunning = dispatcher.isRunning(agentId);
  const ended =
    isRunning && input["block"] !== true
      ? undefined
      : await withTimeLimit(context.signal, waitOf(input), (signal) => dispatcher.endOf(agentId, signal));
  if (ended) return { content: resultText(ended), details: { agentId, status: ended.end.outcome } };
  const soFar = dispatcher.words(agentId);
  const words = soFar === "" ? "It has said nothing yet." : `So far:\n${soFar}`;
  return {
    content: `Agent ${agentId} (${agentType}: ${description}) is still running. ${words}`,
    details: { agentId, status: "running" },
  };
}

function waitOf(input: JsonObject): number {
  const { timeout } = input;
  return typeof timeout === "number" ? timeout : usualWait;
}
