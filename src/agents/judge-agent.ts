import { decide } from "../permissions/index.ts";
import type { Decision, Policy } from "../protocol/index.ts";

/** What rules say about giving work to an agent, in whatever mode and whoever could be asked. */
export function judgeAgent(agentType: string, { rules, layers = [] }: Pick<Policy, "rules" | "layers">): Decision {
  const policy: Policy = { mode: "default", pool: ["Task"], rules, layers, workspaceRoots: [], readableRoots: [] };
  return decide({ toolName: "Task", accesses: [{ kind: "agent", agentType }], resolved: [], policy });
}
