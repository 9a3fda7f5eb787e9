import type { ResolvedAgent } from "../../agents/index.ts";
import type { DurableEvent, PermissionMode, Policy } from "../../protocol/index.ts";
import type { RunHost } from "./run-host.ts";

/** The same object for the same policy: what is made of it is made once. */
export type Remake = (policy: Policy) => Policy;

/** While the session's agent plans, it and all below it only look; whom nobody would have answered nobody answers. */
export const inPlanMode: Remake = once((policy) => {
  if (policy.mode === "plan") return policy;
  return { ...policy, mode: "plan", ...(policy.mode === "dontAsk" ? { unattended: true as const } : {}) };
});

/** What holds for an agent that began in plan mode and has left it. */
export function afterPlanMode(mode: PermissionMode): Remake {
  return once((policy) => (policy.mode === "plan" ? { ...policy, mode } : policy));
}

/** An agent as others are measured by it now. */
export function withPolicies(agent: ResolvedAgent, remake: Remake): ResolvedAgent {
  const policy = remake(agent.policy);
  const childPolicy = agent.childPolicy && remake(agent.childPolicy);
  if (policy === agent.policy && childPolicy === agent.childPolicy) return agent;
  return { ...agent, policy, childPolicy };
}

/** What a run's agent may do now. */
export function currentPolicy({ services, thread, request: { agent } }: RunHost): Policy {
  return services.retinue?.policyOf(thread.agentId, agent.policy) ?? agent.policy;
}

/** The mode that a run begins in. */
export function beginningMode(host: RunHost): PermissionMode {
  const { plan, agent } = host.request;
  if (plan === undefined) return currentPolicy(host).mode;
  return plan === "enter" ? "plan" : agent.policy.mode;
}

/** What stands before the words of a run that begins in another mode than the last one ended in. */
export function planEvents({ request: { plan, agent } }: RunHost): readonly DurableEvent[] {
  if (plan === undefined) return [];
  if (plan === "leave")
    return [
      { type: "plan.left", by: "person" },
      { type: "context.added", cause: "plan", text: "[Plan mode is off: you may change things again.]" },
    ];
  const end = agent.policy.pool.includes("ExitPlanMode")
    ? "Then call ExitPlanMode with your plan, and carry it out once it is approved."
    : "Your answer is the plan: what you would change, where, and how it would be checked.";
  const text = `[Plan mode: look at whatever you need and change nothing. ${end}]`;
  return [
    { type: "plan.entered", by: "person" },
    { type: "context.added", cause: "plan", text },
  ];
}

function once(remake: Remake): Remake {
  const made = new WeakMap<Policy, Policy>();
  return (policy) => {
    const known = made.get(policy);
    if (known !== undefined) return known;
    const fresh = remake(policy);
    made.set(policy, fresh);
    return fresh;
  };
}
