import type { PermissionMode } from "../permissions/permission.ts";

/** Beginning of the text that describes an agent's environment. Siblings are told the same. */
export const ENVIRONMENT_OPENING = "[Your environment:";

/** The part of an agent's environment that can change while it works, as it was told last. */
export interface ToldEnvironment {
  /** Local date, such as 2026-11-17. */
  readonly date: string;
  readonly directory: string;
  /** Provider and model, such as `anthropic/claude-sonnet-4-5`. */
  readonly model: string;
  readonly mode: PermissionMode;
  /** Someone can approve calls of this agent. */
  readonly approvable: boolean;
}
