import type { AgentDefinition, Settings } from "../protocol/index.ts";

export interface ClockLimits {
  /** How long a model may be silent in the middle of a request. */
  readonly idleMs: number;
  /** Active time of a run; absent: no limit. */
  readonly wallMs?: number;
}

export interface ClockLimitsInput {
  readonly definition: Pick<AgentDefinition, "timeoutMs">;
  readonly settings: Pick<Settings, "subagents">;
  readonly background: boolean;
  readonly isMain: boolean;
}

/** A definition's `timeout` holds wherever its agent runs; without one only those somebody waits for have a limit. */
export function clockLimits({ definition, settings, background, isMain }: ClockLimitsInput): ClockLimits {
  const { idleSeconds, timeoutSeconds } = settings.subagents ?? {};
  const idleMs = idleSeconds === undefined ? FIVE_MINUTES : idleSeconds * 1_000;
  if (definition.timeoutMs !== undefined) return { idleMs, wallMs: definition.timeoutMs };
  if (background || isMain || timeoutSeconds === 0) return { idleMs };
  return { idleMs, wallMs: timeoutSeconds === undefined ? FIVE_MINUTES : timeoutSeconds * 1_000 };
}

const FIVE_MINUTES = 300_000;
