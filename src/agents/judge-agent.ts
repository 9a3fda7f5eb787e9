import { decide } from "../permissions/index.ts";
import type { Decision, Policy, PolicyLayer } from "../protocol/index.ts";

/** What rules say about giving work to an agent, in whatever mode and whoever could be asked. */
export function judgeAgent(agentType: string, rules: Pick<Policy, "rules" | "layers">): Decision {
  return decide({ toolName: "Task", accesses: [{ kind: "agent", agentType }], resolved: [], policy: policyOf(rules) });
}

/** Rules are compiled once for each object that holds them. */
const policies = new WeakMap<Policy["rules"], Policy>();

function policyOf({ rules, layers = noLayers }: Pick<Policy, "rules" | "layers">): Policy {
  const known = policies.get(rules);
  if (known?.layers === layers) return known;
  const policy: Policy = { mode: "default", pool: ["Task"], rules, layers, workspaceRoots: [], readableRoots: [] };
  policies.set(rules, policy);
  return policy;
}

const noLayers: readonly PolicyLayer[] = [];
