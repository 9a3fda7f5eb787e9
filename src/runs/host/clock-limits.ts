import type { AgentDefinition, Settings } from "../../protocol/index.ts";

export interface ClockLimits {
  /** Time after which a request without any progress ends the run. */
  readonly idleMs: number;
  /** Limit of a run's active time; absent: no limit. */
  readonly wallMs?: number;
  /** At the limit, a run moves to the background, or ends unless it already is there. Absent: it ends. */
  readonly atWall?: "background" | "unless-background";
  /** Total time to wait for background agents when nothing else is left to do; absent: no limit. */
  readonly waitMs?: number;
}

export interface ClockLimitsInput {
  readonly definition: Pick<AgentDefinition, "timeoutMs">;
  readonly settings: Pick<Settings, "subagents" | "background">;
  readonly background: boolean;
  readonly isMain: boolean;
  /** A user is present, so a run can move to the background. */
  readonly mayDetach?: boolean;
}

/** Returns the time limits of a run. A `timeout` of the definition always applies; without one, only runs in the foreground have a limit. */
export function clockLimits({ definition, settings, background, isMain, mayDetach }: ClockLimitsInput): ClockLimits {
  const { timeoutSeconds } = settings.subagents ?? {};
  const idleMs = silenceMs(settings);
  const { waitSeconds } = settings.background ?? {};
  const waiting = isMain && waitSeconds !== undefined ? { waitMs: waitSeconds * 1_000 } : {};
  if (definition.timeoutMs !== undefined) return { idleMs, wallMs: definition.timeoutMs, ...waiting };
  if (background || isMain || timeoutSeconds === 0) return { idleMs, ...waiting };
  const wallMs = timeoutSeconds === undefined ? FIVE_MINUTES : timeoutSeconds * 1_000;
  return { idleMs, wallMs, atWall: mayDetach ? "background" : "unless-background" };
}

/** Returns the time after which a silent model ends a run. */
function silenceMs({ subagents: { idleSeconds } = {} }: Pick<Settings, "subagents">): number {
  return idleSeconds === undefined ? FIVE_MINUTES : idleSeconds * 1_000;
}

/** Returns a limit that is longer than any run waits, so that the run reports a silent model, and not the connection. */
export function connectionSilenceMs(settings: Pick<Settings, "subagents">): number {
  return silenceMs(settings) + ONE_MINUTE;
}

const ONE_MINUTE = 60_000;
const FIVE_MINUTES = 5 * ONE_MINUTE;
