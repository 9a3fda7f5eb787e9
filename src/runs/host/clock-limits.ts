import { plural } from "../../lib/index.ts";
import type { AgentDefinition, Settings } from "../../protocol/index.ts";

export interface ClockLimits {
  /** Time without progress on a request after which the run ends. */
  readonly idleMs: number;
  /** Limit on the run's active time. If absent, there is no limit. */
  readonly wallMs?: number;
  /**
   * What happens when the limit on active time is reached. `background`: the run moves to the background.
   * `unless-background`: the run ends unless it is already in the background. If absent, the run ends.
   */
  readonly atWall?: "background" | "unless-background";
  /**
   * Maximum total time that the run waits for background agents when it has nothing else to do. If absent, there is no
   * limit.
   */
  readonly waitMs?: number;
}

export interface ClockLimitsInput {
  readonly definition: Pick<AgentDefinition, "timeoutMs">;
  readonly settings: Pick<Settings, "subagents" | "background">;
  readonly background: boolean;
  readonly isMain: boolean;
  /** Whether a run can move to the background, which requires that a user is present. */
  readonly mayDetach?: boolean;
}

/**
 * Returns the time limits for a run. A `timeout` in the definition always applies. Without one, only foreground runs
 * have a limit.
 */
export function clockLimits({ definition, settings, background, isMain, mayDetach }: ClockLimitsInput): ClockLimits {
  const idleMs = silenceMs(settings);
  const { waitSeconds } = settings.background ?? {};
  const waiting = isMain && waitSeconds !== undefined ? { waitMs: waitSeconds * 1_000 } : {};
  if (definition.timeoutMs !== undefined) return { idleMs, wallMs: definition.timeoutMs, ...waiting };
  const wallMs = foregroundMs(settings);
  if (background || isMain || wallMs === undefined) return { idleMs, ...waiting };
  return { idleMs, wallMs, atWall: mayDetach ? "background" : "unless-background" };
}

/** Returns the limit on the active time of agents that are waited for, unless their definition sets one. */
export function foregroundMs({ subagents: { timeoutSeconds } = {} }: Pick<Settings, "subagents">): number | undefined {
  if (timeoutSeconds === undefined) return FIVE_MINUTES;
  return timeoutSeconds === 0 ? undefined : timeoutSeconds * 1_000;
}

/** Formats a time limit for a model: `about 5 minutes`. */
export function formatMinutes(milliseconds: number): string {
  const minutes = milliseconds / ONE_MINUTE;
  if (minutes < 2) return `about ${plural(Math.round(milliseconds / 1_000), "second")}`;
  return `about ${plural(Math.round(minutes), "minute")}`;
}

/** Returns how long a model may go without sending output before its run ends. */
function silenceMs({ subagents: { idleSeconds } = {} }: Pick<Settings, "subagents">): number {
  return idleSeconds === undefined ? FIVE_MINUTES : idleSeconds * 1_000;
}

/**
 * Returns how long a connection may be silent before it is closed. This is longer than the run's own limit, so that the
 * run reports a silent model before the connection fails.
 */
export function connectionSilenceMs(settings: Pick<Settings, "subagents">): number {
  return silenceMs(settings) + ONE_MINUTE;
}

const ONE_MINUTE = 60_000;
const FIVE_MINUTES = 5 * ONE_MINUTE;
