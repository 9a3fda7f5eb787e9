import type { PermissionMode } from "../permissions/permission.ts";

/** First words of the text that describes an agent's environment. Sibling forks share the text. */
export const ENVIRONMENT_OPENING = "Your environment:";

/** The part of the environment that can change while an agent works, as it was last described to the agent. */
export interface ToldEnvironment {
  /** Local date, such as 2026-11-17. */
  readonly date: string;
  readonly directory: string;
  /** Provider and model, such as `anthropic/claude-sonnet-4-5`. */
  readonly model: string;
  readonly mode: PermissionMode;
  /** Whether someone can approve this agent's calls. */
  readonly approvable: boolean;
}

/** First words of texts that Retinue adds to user turns. Other modules recognize the texts by these words. */
export const runtimeTexts = {
  previousRun: "Your previous run",
  interrupted: "The user interrupted your previous run",
  acceptanceFailed: "The acceptance check failed",
  verificationFailed: "Verification failed",
} as const;
