import type { AgentId, HookAnswer, HookEvent, HookFacts, HookSource, PermissionMode } from "../protocol/index.ts";

/** Who does what a hook is told of. */
export interface HookScene {
  readonly agentId: AgentId;
  readonly agentType: string;
  /** Absent for the main agent. */
  readonly parent?: AgentId | undefined;
  readonly depth: number;
  readonly cwd: string;
  readonly permissionMode: PermissionMode;
  readonly signal: AbortSignal;
}

/** What all hooks of one occasion said together. */
export interface HookOutcome extends Omit<HookAnswer, "notice"> {
  /** How many were run. */
  readonly ran: number;
  /** With `allow`: whose word that is; the user's, if it is among them. */
  readonly allowedBy?: HookSource | undefined;
  readonly notices: readonly string[];
}

/** What people and programs want to be asked or told. */
export interface Hooks {
  /** Whether there is any for the event; spares the work of telling nobody. */
  has(event: HookEvent): boolean;
  /** Runs all that want to know, side by side. Never rejects; settles soon after the signal fires. */
  run<Event extends HookEvent>(event: Event, facts: HookFacts[Event], scene: HookScene): Promise<HookOutcome>;
}
