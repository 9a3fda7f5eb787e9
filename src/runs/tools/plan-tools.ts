import type { Tool, ToolOutput, ToolSpec } from "../../ports/index.ts";
import { type AgentId, MAIN_AGENT } from "../../protocol/index.ts";
import { planModeText } from "../host/plan-mode.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";

const traits = { parallel: false, effects: false };

/** Specs of the plan mode tools, for sessions in which the user can approve a plan. */
export const planSpecs: readonly ToolSpec[] = [
  {
    declaration: {
      name: "EnterPlanMode",
      description:
        "Starts plan mode. Until the user has approved a plan, you only read and search, and Bash runs only commands that are known to change nothing. This applies to your subagents too. Use it before work that is large, is hard to undo or has several possible designs, so that the user can correct the direction first. Do not use it for small or clearly described changes.",
      inputSchema: { type: "object", properties: {} },
    },
    traits,
  },
  {
    declaration: {
      name: "ExitPlanMode",
      description:
        "Presents your plan to the user for approval. Once it is approved, plan mode ends and you carry the plan out. If it is rejected, you stay in plan mode and revise it. Use it only in plan mode, when the plan is complete.",
      inputSchema: {
        type: "object",
        properties: {
          plan: {
            type: "string",
            minLength: 1,
            description:
              "The plan: what changes, in which files, in which order, and how it will be verified. End with the key files.",
          },
        },
        required: ["plan"],
      },
    },
    traits,
  },
];

export function createEnterPlanMode(dispatcher: Dispatcher, spec: ToolSpec): Tool {
  return {
    ...spec,
    run: async (_, { agentId }) => {
      const refusal = refusalFor("EnterPlanMode", agentId, dispatcher.isPlanning ? "Plan mode is already on." : "");
      if (refusal) return refusal;
      return { content: planModeText(await dispatcher.enterPlan()) };
    },
  };
}

/**
 * Creates the tool that leaves plan mode. Only the user's approval allows a call in plan mode, so if plan mode is on
 * when the tool runs, the plan has been approved.
 */
export function createExitPlanMode(dispatcher: Dispatcher, spec: ToolSpec): Tool {
  return {
    ...spec,
    run: async ({ plan }, { agentId }) => {
      const refusal = refusalFor("ExitPlanMode", agentId, "");
      if (refusal) return refusal;
      // The user may have turned plan mode off instead of approving the plan.
      if (!dispatcher.isPlanning)
        return { content: `Plan mode is off, and the permission mode is ${dispatcher.mode}.` };
      const mode = await dispatcher.leavePlan();
      // The user may have changed the plan before approving it.
      const off = `Plan mode is off, and the permission mode is ${mode}.`;
      return { content: `${off} Carry out the plan as it was approved:\n${String(plan)}` };
    },
  };
}

/** Refuses the call unless the main agent made it, regardless of the policy that allowed it. */
function refusalFor(name: string, agentId: AgentId, problem: string): ToolOutput | undefined {
  const why = agentId === MAIN_AGENT ? problem : `Only the main agent can use ${name}.`;
  return why === "" ? undefined : { content: why, isError: true };
}
