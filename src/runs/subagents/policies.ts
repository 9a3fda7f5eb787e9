import { type AgentId, MAIN_AGENT, type PermissionMode, type Policy } from "../../protocol/index.ts";
import { afterPlanMode, inPlanMode, type PolicyChange } from "../host/plan-mode.ts";
import type { Thread } from "../thread/thread.ts";

/** Whose plan mode binds all, and what holds when it has left one that it began in. */
export interface Planner {
  readonly main: Thread;
  readonly after: PermissionMode;
}

/** What agents were given is not all that holds: less while there is only a plan, and for whom nobody waits. */
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

  /** What plan mode makes of the policies of this agent. */
  planned(agentId: AgentId): PolicyChange {
    if (this.isPlanning) return inPlanMode;
    const hasLeft = agentId === MAIN_AGENT && this.planner?.main.state.plan === "left";
    return hasLeft ? this.leftPlan : asItIs;
  }

  /** Declared tools stay, for the cache; calls outside the list are refused. */
  behind(policy: Policy, pool: Policy["pool"]): Policy {
    const known = this.narrowed.get(policy);
    if (known) return known;
    const narrowed = { ...policy, pool };
    this.narrowed.set(policy, narrowed);
    return narrowed;
  }
}

const asItIs: PolicyChange = (policy) => policy;
