import { type AgentId, MAIN_AGENT, type PermissionMode, type Policy } from "../../protocol/index.ts";
import { afterPlanMode, inMode, inPlanMode, type PolicyChange, withinMode } from "../host/plan-mode.ts";
import type { Thread } from "../thread/thread.ts";

export interface Planner {
  /** The main agent's thread. Its plan mode applies to all agents. */
  readonly main: Thread;
  /** The main agent's mode after it leaves plan mode, if it began in plan mode. */
  readonly after: PermissionMode;
}

/**
 * Computes agents' current policies. A policy changes when the user changes the main agent's mode. In plan mode and in
 * the background, agents have fewer permissions.
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

  /** Sets the main agent's mode. Agents whose own mode is stricter keep it. */
  choose(mode: PermissionMode): void {
    this.chosen = { main: inMode(mode), others: withinMode(mode) };
  }

  /** Returns the change that the main agent's mode makes to this agent's policies. */
  planned(agentId: AgentId): PolicyChange {
    if (this.isPlanning) return inPlanMode;
    const isMain = agentId === MAIN_AGENT;
    if (this.chosen !== undefined) return isMain ? this.chosen.main : this.chosen.others;
    return isMain && this.planner?.main.state.plan === "left" ? this.leftPlan : unchanged;
  }

  /**
   * Narrows a background agent's pool. Its other tools stay declared, to keep the cache valid, but calls to them are
   * refused.
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
