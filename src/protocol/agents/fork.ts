import type { AgentId, CallId, LineId } from "../ids.ts";
import type { ToldEnvironment } from "./environment.ts";

/**
 * Point in another agent's conversation from which a fork continues. The messages up to that point are shared, not
 * copied.
 */
export interface ForkOrigin {
  /**
   * `fork`: the new agent has the same head as the other one, so its requests begin with the same bytes. `context`: the
   * new agent has its own head and is given the other agent's messages.
   */
  readonly kind: "fork" | "context";
  /** Agent whose conversation is continued. */
  readonly agentId: AgentId;
  /**
   * Line in that agent's transcript with the response whose call started the fork. This is the last line that the fork
   * shares.
   */
  readonly line: LineId;
  /** Fingerprint of the shared messages' bytes, which shows whether the transcript has changed since. */
  readonly hash: string;
  /**
   * Calls in the response that started the fork, in order. In the fork, the result of every call is the same
   * placeholder.
   */
  readonly calls: readonly CallId[];
  /** Number of newest turns that are shared. If absent, all are shared. */
  readonly turns?: number | undefined;
  /** Estimated number of shared tokens; absent if it was not estimated. */
  readonly tokens?: number | undefined;
  /** Environment as the shared messages describe it. Absent if they do not describe it. */
  readonly environment?: ToldEnvironment | undefined;
}

/** Agent type that requests a fork. */
export const FORK_TYPE = "fork";

/**
 * Text that precedes the directive of every fork. It is the same for all forks, so that siblings share its bytes too.
 */
export const FORK_INTRODUCTION =
  "<from_retinue>\nYou are a fork of the agent above, not that agent. Do only the task below, and do it yourself: start no agents, ask no questions, suggest no next steps. Your last message is your report to that agent; keep it short and exact.\n</from_retinue>";

export const forkChoices = ["auto", "on", "off"] as const;
/** Determines when agents can fork. `auto`: only in interactive sessions. */
export type ForkChoice = (typeof forkChoices)[number];
