import { plural } from "../../lib/index.ts";
import type { Tool, ToolSpec } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { stopWithReceipt, type WorkingRun } from "../subagents/stop-receipt.ts";
import { labelOf } from "../subagents/subagent.ts";
import { unknownAgentText } from "../subagents/task-text.ts";
import { forDelegators } from "./task.ts";

export const taskStopSpec: ToolSpec = {
  declaration: {
    name: "TaskStop",
    description: "Stops an agent. Its work so far is kept, and it can be resumed.",
    inputSchema: {
      type: "object",
      properties: { task_id: { type: "string", description: "Id or name of the agent." } },
      required: ["task_id"],
    },
  },
  traits: { parallel: true, effects: false },
};

export function createTaskStop(dispatcher: Dispatcher, spec: ToolSpec): Tool {
  const { registry } = dispatcher;
  return forDelegators(dispatcher, {
    ...spec,
    run: async (input, { agentId: caller }) => {
      const id = String(input["task_id"]);
      const subagent = await registry.find(id, caller);
      if (subagent === undefined)
        return { content: unknownAgentText(id, await registry.all(caller), caller), isError: true };
      const { agentId } = subagent;
      const { stopped, stillRunning } = await stopWithReceipt(registry.working(agentId), () => registry.stop(agentId));
      const own = stopped.find((run) => run.agentId === agentId);
      const details = { agentId, stopped: stopped.map(asJson), stillRunning: stillRunning.map(asJson) };
      if (own === undefined)
        return { content: `Agent ${agentId} is not running, so there was nothing to stop.`, details };
      const others = stopped.filter((run) => run !== own);
      const content = [
        `Agent ${agentId} was stopped after ${plural(own.turns, "turn")}. Its work is kept. To continue it, call Task with resume: "${agentId}".`,
        ...(others.length === 0 ? [] : [`Also stopped: ${listed(others)}.`]),
        ...(stillRunning.length === 0 ? [] : [`Its subagents continue in the background: ${listed(stillRunning)}.`]),
      ];
      return { content: content.join(" "), details };
    },
  });
}

function asJson(run: WorkingRun): JsonObject {
  return { ...run };
}

function listed(runs: readonly WorkingRun[]): string {
  return runs.map(labelOf).join(", ");
}
