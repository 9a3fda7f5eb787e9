import { type AgentId, MAIN_AGENT, type PermissionMode, type Policy } from "../../protocol/index.ts";
import { afterPlanMode, inMode, inPlanMode, type PolicyChange, withinMode } from "../host/plan-mode.ts";
import type { Thread } from "../thread/thread.ts";

export interface Planner {
  /** Thread of the main agent. Its plan mode applies to all agents. */
  readonly main: Thread;
  /** Mode of the main agent after it leaves plan mode, if it began in plan mode. */
  readonly after: PermissionMode;
}

/**
 * Current policies of agents. The user can change the mode of the main agent. Plan mode and running in the background
 * take permissions away.
 */
export class Policies {
  private readonly planner: Planner | undefined;
  private readonly leftPlan: PolicyChange;
  private chosen: { readonly main: PolicyChange; readonly others: PolicyChange } | undefined;
  private readonly narrowed = new WeakMap<Policy, Policy>();

  constructor(planner: Planner | undefined) {
    this.planner = planner;
    this.leftPlan = afterPlanMode(planner?.after ?? "default");
  }

  get isPlanning(): boolean {
    return this.planner?.main.state.plan === "entered";
  }

  /** Sets the mode of the main agent. The others keep their modes if these are stricter. */
  choose(mode: PermissionMode): void {
    this.chosen = { main: inMode(mode), others: withinMode(mode) };
  }

  /** Returns the change that the mode of the main agent makes to the policies of this agent. */
  planned(agentId: AgentId): PolicyChange {
    if (this.isPlanning) return inPlanMode;
    const isMain = agentId === MAIN_AGENT;
    if (this.chosen !== undefined) return isMain ? this.chosen.main : this.chosen.others;
    return isMain && this.planner?.main.state.plan === "left" ? this.leftPlan : unchanged;
  }

  /**
   * Narrows the pool of an agent that runs in the background. Its other tools stay declared, to keep the cache valid,
   * but are refused when called.
   */
  inBackground(policy: Policy, pool: Policy["pool"]): Policy {
    const known = this.narrowed.get(policy);
    if (known) return known;
    const narrowed = { ...policy, pool };
    this.narrowed.set(policy, narrowed);
    return narrowed;
  }
}

const unchanged: PolicyChange = (policy) => policy;
