import { expectedTokens } from "../../loop/index.ts";
import { contextLimits } from "../compaction/context-limits.ts";
import type { LiveAgent } from "../host/run-host.ts";
import { LONGEST_REPORT } from "../subagents/task-text.ts";

/** Cautious, so that what fits by this fits. */
const CHARACTERS_PER_TOKEN = 3;
/** Enough for how a report begins and ends. */
const LEAST = 400;
/** With what the runtime says behind it, still within what hands let pass. */
const MOST = LONGEST_REPORT - 2_000;

/**
 * Characters that one report may have: the calls of one answer share what is left of their caller's window. Undefined
 * for the usual length, at which hands keep the whole for Read; anything else only where TaskOutput can show the rest.
 */
export function reportRoom({ agent, services, thread: { state } }: LiveAgent): number | undefined {
  const { head, contextTokens, policy } = agent;
  if (!policy.pool.includes("TaskOutput")) return undefined;
  const limits = contextLimits({
    head,
    model: services.model.describe(),
    contextTokens,
    percent: services.compactAtPercent,
  });
  const usual = policy.pool.includes("Read") ? undefined : MOST;
  if (limits === undefined) return usual;
  const free = limits.compactAt - expectedTokens(state.context, limits, undefined);
  const share = Math.floor((free * CHARACTERS_PER_TOKEN) / Math.max(1, state.calls.length));
  return share >= MOST ? usual : Math.max(LEAST, share);
}
