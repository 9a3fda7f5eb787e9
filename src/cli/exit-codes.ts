import type { ModelErrorCode, RunResult } from "../protocol/index.ts";

export const exitCodes = { succeeded: 0, failed: 1, usage: 2, incomplete: 3, unverified: 4, stopped: 130 } as const;

/** Exit codes of a process that was ended by a signal. */
export const signalCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129, SIGQUIT: 131 } as const;
export type StopSignal = keyof typeof signalCodes;
/** Signals that end a process. Windows has no SIGQUIT. */
export const stopSignals = (Object.keys(signalCodes) as readonly StopSignal[]).filter(
  (signal) => process.platform !== "win32" || signal !== "SIGQUIT",
);

interface RunEvidence {
  /** Error from the last request, if it failed. */
  readonly modelError: ModelErrorCode | undefined;
  /** Number of subagents at any depth that were ended by a limit. The run's facts count only its direct subagents. */
  readonly agentsCut: number;
}

export function exitCodeOf(
  { outcome, reason, facts, acceptance }: RunResult,
  { modelError, agentsCut }: RunEvidence,
): number {
  const misconfigured = modelError === "auth" || modelError === "unknown_model";
  if (reason === "model_error" && misconfigured) return exitCodes.usage;
  if (outcome === "succeeded" && acceptance?.ok === false) return exitCodes.unverified;
  if (outcome === "succeeded" && (agentsCut > 0 || facts.agentsCut > 0)) return exitCodes.incomplete;
  return exitCodes[outcome];
}
