import { decide } from "../../permissions/index.ts";
import type { Decision, Policy } from "../../protocol/index.ts";

/** Decides whether rules allow delegating to an agent of this type, independent of the mode and of any approver. */
export function judgeAgent(agentType: string, { rules, layers }: Pick<Policy, "rules" | "layers">): Decision {
  return decide({
    toolName: "Task",
    accesses: [{ kind: "agent", agentType }],
    resolved: [],
    policy: { mode: "default", pool: ["Task"], rules, layers, workspaceRoots: [], readableRoots: [] },
  });
}
