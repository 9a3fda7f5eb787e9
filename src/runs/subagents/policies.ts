import { type AgentId, MAIN_AGENT, type PermissionMode, type Policy } from "../../protocol/index.ts";
import { afterPlanMode, inPlanMode, type PolicyChange } from "../host/plan-mode.ts";
import type { Thread } from "../thread/thread.ts";

export interface Planner {
  /** Thread of the main agent, whose plan mode applies to all agents. */
  readonly main: Thread;
  /** Mode of the main agent after it leaves a plan mode that it began in. */
  readonly after: PermissionMode;
}

/** Policies of agents as they are now: plan mode and the background take permissions away. */
export class Policies {
  private readonly planner: Planner | undefined;
  private readonly leftPlan: PolicyChange;
  private readonly narrowed = new WeakMap<Policy, Policy>();

  constructor(planner: Planner | undefined) {
    this.planner = planner;
    this.leftPlan = afterPlanMode(planner?.after ?? "default");
  }

  get isPlanning(): boolean {
    return this.planner?.main.state.plan === "entered";
  }

  /** Returns how plan mode changes the policies of this agent. */
  planned(agentId: AgentId): PolicyChange {
    if (this.isPlanning) return inPlanMode;
    const hasLeft = agentId === MAIN_AGENT && this.planner?.main.state.plan === "left";
    return hasLeft ? this.leftPlan : unchanged;
  }

  /** Narrows the pool of an agent in the background. Its tools stay declared, for the cache, and are refused when called. */
  inBackground(policy: Policy, pool: Policy["pool"]): Policy {
    const known = this.narrowed.get(policy);
    if (known) return known;
    const narrowed = { ...policy, pool };
    this.narrowed.set(policy, narrowed);
    return narrowed;
  }
}

const unchanged: PolicyChange = (policy) => policy;
