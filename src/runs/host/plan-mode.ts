import { dropsDontAsk, type ResolvedAgent, stricter } from "../../agents/index.ts";
import { type DurableEvent, isSameAgent, type PermissionMode, type Policy, runtimeText } from "../../protocol/index.ts";
import { declaredTypes, offeredTo } from "../subagents/available-agents.ts";
import type { PlanSwitch, RunHost } from "./run-host.ts";

/**
 * Derives one policy from another. Returns the same object for the same policy, because compiled rules are cached per
 * object.
 */
export type PolicyChange = (policy: Policy) => Policy;

/**
 * Returns the policy for plan mode, in which an agent and all agents below it are read-only. If the policy's mode never
 * asks for approval, neither does plan mode.
 */
export const inPlanMode: PolicyChange = once((policy) => {
  if (policy.mode === "plan") return policy;
  return { ...policy, mode: "plan", unattended: policy.mode === "dontAsk" ? true : policy.unattended };
});

/** What happens in each mode to calls that no rule covers, for a user who decides whether to approve a plan. */
const effects: Readonly<Record<PermissionMode, string>> = {
  default: "calls that no rule allows need approval",
  acceptEdits: "files in the workspace are edited without asking, and other calls that no rule allows need approval",
  dontAsk: "calls that need approval are denied",
  bypassPermissions: "calls run without asking unless a rule asks about them or denies them",
  plan: "nothing can be changed",
};

/** Tells the user what approving a plan does. `mode`: permission mode that follows. */
export function planApprovalText(mode: PermissionMode): string {
  return `The user has to approve the plan. Plan mode then ends, and the permission mode is ${mode}: ${effects[mode]}.`;
}

/** Returns the policy change for an agent that began in plan mode and has left it. */
export function afterPlanMode(mode: PermissionMode): PolicyChange {
  return once((policy) => (policy.mode === "plan" ? { ...policy, mode } : policy));
}

/** Returns the policy change for a main agent whose mode the user has changed. */
export function inMode(mode: PermissionMode): PolicyChange {
  return once((policy) => (policy.mode === mode ? policy : { ...policy, mode }));
}

/** Returns the policy change for the agents below a main agent whose mode the user has changed. */
export function withinMode(limit: PermissionMode): PolicyChange {
  return once((policy) => {
    const mode = stricter(policy.mode, limit);
    const unattended = dropsDontAsk([policy.mode, limit], mode) || policy.unattended;
    return { ...policy, mode, unattended: unattended || undefined };
  });
}

/** Applies a policy change to an agent and to the policy that limits its subagents. */
export function withPolicies(agent: ResolvedAgent, change: PolicyChange): ResolvedAgent {
  const policy = change(agent.policy);
  const childPolicy = agent.childPolicy && change(agent.childPolicy);
  if (policy === agent.policy && childPolicy === agent.childPolicy) return agent;
  return { ...agent, policy, childPolicy };
}

/** Returns the current policy of a run's agent. */
export function currentPolicy({ services, thread, request: { agent } }: RunHost): Policy {
  return services.retinue?.policyOf(thread.agentId, agent.policy) ?? agent.policy;
}

/** Returns the permission mode in which a run begins. */
export function beginningMode(host: RunHost): PermissionMode {
  const { plan, agent } = host.request;
  if (plan === undefined) return currentPolicy(host).mode;
  return plan.kind === "enter" ? "plan" : agent.policy.mode;
}

/**
 * Returns the lines to record when the user turns an agent's plan mode on or off. A line that contains the new mode
 * must follow.
 */
export function planEvents(plan: PlanSwitch, agent: ResolvedAgent): readonly DurableEvent[] {
  if (plan.kind === "leave")
    return [
      { type: "plan.left", by: "person" },
      { type: "context.added", cause: "plan", text: runtimeText("Plan mode is off. You can make changes again.") },
    ];
  return [
    { type: "plan.entered", by: "person", afterPlan: plan.afterPlan },
    { type: "context.added", cause: "plan", text: runtimeText(planModeText(agent)) },
  ];
}

/** Tells an agent what to do in plan mode, and which of the agents that it can start help with that. */
export function planModeText(agent: ResolvedAgent): string {
  const { pool } = agent.policy;
  const declared = declaredTypes(agent.head) ?? ["Explore", "Plan"];
  const offered = pool.includes("Task") ? offeredTo(agent, declared) : [];
  const find = (name: string): string | undefined => offered.find((each) => isSameAgent(each, name));
  const [explore, plan] = [find("Explore"), find("Plan")];
  const steps = [explore && `let ${explore} find the code`, plan && `have ${plan} design the change`].filter(Boolean);
  const how = steps.length === 0 ? "" : ` Unless the change is small, ${steps.join(", then ")}.`;
  const end = pool.includes("ExitPlanMode")
    ? "Then call ExitPlanMode with your plan, and carry it out once it is approved."
    : "Your answer is the plan: what you would change, where, and how to verify it.";
  return `Plan mode is on: read whatever you need, but change nothing.${how} ${end}`;
}

function once(change: PolicyChange): PolicyChange {
  const made = new WeakMap<Policy, Policy>();
  return (policy) => {
    const known = made.get(policy);
    if (known !== undefined) return known;
    const fresh = change(policy);
    made.set(policy, fresh);
    return fresh;
  };
}
