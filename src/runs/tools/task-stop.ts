import { plural } from "../../lib/index.ts";
import type { Tool, ToolSpec } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { stopWithReceipt, type WorkingRun } from "../subagents/stop-receipt.ts";
import { unknownId } from "./task.ts";

export function createTaskStop(dispatcher: Dispatcher): Omit<Tool, keyof ToolSpec> {
  return {
    run: async (input, { agentId: caller }) => {
      const id = String(input["task_id"]);
      const { registry } = dispatcher;
      const subagent = await registry.find(id, caller);
      if (subagent === undefined) return { content: await unknownId(dispatcher, id, caller), isError: true };
      const { agentId } = subagent;
      const { stopped, goesOn } = await stopWithReceipt(registry.working(agentId), () => registry.stop(agentId));
      const own = stopped.find((run) => run.agentId === agentId);
      const details = { agentId, stopped: stopped.map(asJson), goesOn: goesOn.map(asJson) };
      if (own === undefined) return { content: `Agent ${agentId} does not run; there was nothing to stop.`, details };
      const others = stopped.filter((run) => run !== own);
      const content = [
        `Agent ${agentId} was stopped after ${plural(own.turns, "turn")}. What it did stays; Task with resume: "${agentId}" goes on with it.`,
        ...(others.length === 0 ? [] : [`Stopped with it: ${listed(others)}.`]),
        ...(goesOn.length === 0 ? [] : [`Agents of its own go on in the background: ${listed(goesOn)}.`]),
      ];
      return { content: content.join(" "), details };
    },
  };
}

function asJson(run: WorkingRun): JsonObject {
  return { ...run };
}

function listed(runs: readonly WorkingRun[]): string {
  return runs.map(({ agentId, agentType, description }) => `${agentId} (${agentType}: ${description})`).join(", ");
}
