import { stricter } from "../../agents/index.ts";
import {
  type AgentId,
  type Decision,
  type DurableEvent,
  MAIN_AGENT,
  type PermissionMode,
  type Policy,
} from "../../protocol/index.ts";
import { afterPlanMode, inMode, inPlanMode, type PolicyChange, withinMode } from "../host/plan-mode.ts";
import type { Thread } from "../thread/thread.ts";

export interface Planner {
  /** The main agent's thread. Its plan mode applies to all agents. */
  readonly main: Thread;
  /** Returns the mode in which this process opened the session. If that is plan mode, returns the mode after it. */
  readonly openingMode: () => PermissionMode;
}

/**
 * Computes agents' current policies. A policy changes when the user changes the main agent's mode. In plan mode and in
 * the background, agents have fewer permissions. Also decides which mode follows plan mode.
 */
export class Policies {
  private readonly planner: Planner | undefined;
  private leftPlan: PolicyChange | undefined;
  private chosen:
    | { readonly mode: PermissionMode; readonly main: PolicyChange; readonly others: PolicyChange }
    | undefined;
  /** The last mode, other than plan mode, in which work was done. If undefined, the mode of the session's opening. */
  private worked: PermissionMode | undefined;
  /** Whether an earlier process has entered plan mode. */
  private isInherited: boolean;
  private readonly narrowed = new WeakMap<Policy, Policy>();

  constructor(planner: Planner | undefined) {
    this.planner = planner;
    this.isInherited = this.isPlanning;
  }

  get isPlanning(): boolean {
    return this.planner?.main.state.plan === "entered";
  }

  /**
   * The mode that follows plan mode when a plan has been approved: the one in which the user worked before. Modes that
   * the user only passed through to get to plan mode do not count. If an earlier process has entered plan mode, the
   * mode is not more permissive than the one in which the session was opened again.
   */
  get afterPlan(): PermissionMode {
    if (!this.isPlanning) return this.worked ?? this.openingMode;
    const then = this.planner?.main.state.afterPlan ?? this.openingMode;
    return this.isInherited ? stricter(then, this.openingMode) : then;
  }

  /** Sets the main agent's mode, other than plan mode. Agents whose own mode is stricter keep it. */
  choose(mode: PermissionMode): void {
    this.isInherited = false;
    this.chosen = { mode, main: inMode(mode), others: withinMode(mode) };
  }

  /** Notes that the user has sent a prompt. */
  prompted(): void {
    if (!this.isPlanning) this.worked = this.mode;
  }

  /**
   * Notes a decision. Agents may make calls while the user passes through a mode, so a call counts as work in a more
   * permissive mode only if this mode has allowed it.
   */
  judged({ effect, rule }: Decision, { mode }: Policy): void {
    if (this.isPlanning || mode !== this.mode) return;
    const isAllowedByMode = effect === "allow" && rule === mode;
    if (isAllowedByMode || stricter(mode, this.afterPlan) === mode) this.worked = mode;
  }

  /** Returns the line that records that the agent has entered plan mode. Its mode applies again afterwards. */
  enteredByAgent(): DurableEvent {
    this.isInherited = false;
    this.worked = this.mode;
    return { type: "plan.entered", by: "agent", afterPlan: this.mode };
  }

  /** Leaves plan mode after a plan was approved. The returned lines must be recorded; only then is the mode in force. */
  leftByAgent(): readonly DurableEvent[] {
    const { mode: last, afterPlan: mode } = this;
    if (mode !== last) this.choose(mode);
    this.isInherited = false;
    this.worked = mode;
    // The last chosen mode is recorded, because a server that opens the session again uses it. It must not become more
    // permissive without the user's choice.
    return mode !== last && stricter(mode, last) === mode
      ? [
          { type: "plan.left", by: "agent" },
          { type: "mode.changed", mode },
        ]
      : [{ type: "plan.left", by: "agent", mode }];
  }

  /** Returns the change that the main agent's mode makes to this agent's policies. */
  planned(agentId: AgentId): PolicyChange {
    if (this.isPlanning) return inPlanMode;
    const isMain = agentId === MAIN_AGENT;
    if (this.chosen !== undefined) return isMain ? this.chosen.main : this.chosen.others;
    if (!isMain || this.planner?.main.state.plan !== "left") return unchanged;
    this.leftPlan ??= afterPlanMode(this.openingMode);
    return this.leftPlan;
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

  private get openingMode(): PermissionMode {
    return this.planner?.openingMode() ?? "default";
  }

  /** The main agent's mode apart from plan mode. */
  get mode(): PermissionMode {
    return this.chosen?.mode ?? this.openingMode;
  }
}

const unchanged: PolicyChange = (policy) => policy;
