import type { Tool, ToolOutput, ToolSpec } from "../../ports/index.ts";
import { type AgentId, type DurableEvent, MAIN_AGENT } from "../../protocol/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";

type Behaviour = Omit<Tool, keyof ToolSpec>;

export function createEnterPlanMode(dispatcher: Dispatcher): Behaviour {
  return {
    run: async (_, { agentId }) => {
      const refusal = refusalFor("EnterPlanMode", agentId, dispatcher.isPlanning ? "Plan mode is on already." : "");
      if (refusal) return refusal;
      await record(dispatcher, { type: "plan.entered", by: "agent" });
      return {
        content:
          "Plan mode is on: look at whatever you need and change nothing. Then call ExitPlanMode with your plan.",
      };
    },
  };
}

/** The gate has asked a person by now: nothing else lets this call through in plan mode. */
export function createExitPlanMode(dispatcher: Dispatcher): Behaviour {
  return {
    run: async ({ plan }, { agentId }) => {
      const refusal = refusalFor("ExitPlanMode", agentId, dispatcher.isPlanning ? "" : "Plan mode is not on.");
      if (refusal) return refusal;
      await record(dispatcher, { type: "plan.left", by: "agent" });
      // Who approved it may have changed it first.
      return { content: `Plan mode is off. Carry out the plan as it was approved:\n${String(plan)}` };
    },
  };
}

/** Whatever policy the call came with. */
function refusalFor(name: string, agentId: AgentId, problem: string): ToolOutput | undefined {
  const why = agentId === MAIN_AGENT ? problem : `${name} is only for the agent that the user talks to.`;
  return why === "" ? undefined : { content: why, isError: true };
}

async function record({ registry }: Dispatcher, event: DurableEvent): Promise<void> {
  const main = registry.live.get(MAIN_AGENT);
  if (main === undefined) throw new Error("the main agent calls a tool without a run");
  await main.record([event]);
}
