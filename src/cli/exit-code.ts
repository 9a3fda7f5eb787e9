import type { ModelErrorCode, RunResult } from "../protocol/index.ts";

export const exitCodes = { succeeded: 0, failed: 1, usage: 2, incomplete: 3, stopped: 130 } as const;

/** `modelError`: what the last request failed of, if it did. */
export function exitCodeOf({ outcome, reason }: RunResult, modelError: ModelErrorCode | undefined): number {
  const misconfigured = modelError === "auth" || modelError === "unknown_model";
  if (reason === "model_error" && misconfigured) return exitCodes.usage;
  return exitCodes[outcome];
}
