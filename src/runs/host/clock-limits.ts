import type { AgentDefinition, Settings } from "../../protocol/index.ts";

export interface ClockLimits {
  /** How long a model may be silent in the middle of a request. */
  readonly idleMs: number;
  /** Active time of a run; absent: no limit. */
  readonly wallMs?: number;
  /** Absent: it ends then. `background`: it goes on there. `unless-behind`: it ends if somebody still waits for it. */
  readonly atWall?: "background" | "unless-behind";
  /** How long it waits in all for its agents in the background, when nothing else is left to do; absent: no limit. */
  readonly waitMs?: number;
}

export interface ClockLimitsInput {
  readonly definition: Pick<AgentDefinition, "timeoutMs">;
  readonly settings: Pick<Settings, "subagents" | "background">;
  readonly background: boolean;
  readonly isMain: boolean;
  /** A person is there, and it may go on behind their back. */
  readonly mayDetach?: boolean;
}

/** A definition's `timeout` holds wherever its agent runs; without one only those somebody waits for have a limit, which is one of waiting. */
export function clockLimits({ definition, settings, background, isMain, mayDetach }: ClockLimitsInput): ClockLimits {
  const { timeoutSeconds } = settings.subagents ?? {};
  const idleMs = silenceMs(settings);
  const { waitSeconds } = settings.background ?? {};
  const waiting = isMain && waitSeconds !== undefined ? { waitMs: waitSeconds * 1_000 } : {};
  if (definition.timeoutMs !== undefined) return { idleMs, wallMs: definition.timeoutMs, ...waiting };
  if (background || isMain || timeoutSeconds === 0) return { idleMs, ...waiting };
  const wallMs = timeoutSeconds === undefined ? FIVE_MINUTES : timeoutSeconds * 1_000;
  return { idleMs, wallMs, atWall: mayDetach ? "background" : "unless-behind" };
}

/** How long a model may be silent: the run ends then, and says so. */
function silenceMs({ subagents: { idleSeconds } = {} }: Pick<Settings, "subagents">): number {
  return idleSeconds === undefined ? FIVE_MINUTES : idleSeconds * 1_000;
}

/** Longer than any run waits, so that never the connection but always the run names a silent model. */
export function connectionSilenceMs(settings: Pick<Settings, "subagents">): number {
  return silenceMs(settings) + ONE_MINUTE;
}

const ONE_MINUTE = 60_000;
const FIVE_MINUTES = 5 * ONE_MINUTE;
