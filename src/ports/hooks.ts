import type { AgentId, HookAnswer, HookEvent, HookFacts, HookSource, PermissionMode } from "../protocol/index.ts";
import type { JudgedInput } from "./executor.ts";

/** The agent for which a hook is called, and the circumstances of the call. */
export interface HookScene {
  readonly agentId: AgentId;
  readonly agentType: string;
  /** Id of the parent agent. Absent for the main agent. */
  readonly parent?: AgentId | undefined;
  readonly depth: number;
  readonly cwd: string;
  readonly permissionMode: PermissionMode;
  /** How the executor read the input of the call that the event is about. */
  readonly input?: JudgedInput | undefined;
  readonly signal: AbortSignal;
}

/** Combined answer from all hooks that ran for one event. */
export interface HookOutcome extends Omit<HookAnswer, "notice"> {
  /** Number of hooks that ran. */
  readonly ran: number;
  /** Source of the hook that allowed the call. If several hooks allowed it, `user` if any of them is the user's. */
  readonly allowedBy?: HookSource | undefined;
  readonly notices: readonly string[];
}

/** Hooks from the user, a project, a plugin or a program. */
export interface Hooks {
  /** Returns whether any hook is registered for the event. */
  has(event: HookEvent): boolean;
  /**
   * Runs all matching hooks in parallel. If a path in a call leads through symlinks, runs them again with the path that
   * it leads to, unless they have denied or changed the call. Never rejects; settles soon after the signal fires.
   */
  run<Event extends HookEvent>(event: Event, facts: HookFacts[Event], scene: HookScene): Promise<HookOutcome>;
}
