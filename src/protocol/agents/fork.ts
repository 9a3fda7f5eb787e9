import type { AgentId, CallId, LineId } from "../ids.ts";
import type { ToldEnvironment } from "./environment.ts";

/** Point in another agent's conversation that a fork continues from. Its history is shared, not copied. */
export interface ForkOrigin {
  /** `fork`: same agent, same bytes. `context`: another agent with its own head that is given the messages. */
  readonly kind: "fork" | "context";
  /** Agent whose conversation is continued. */
  readonly agentId: AgentId;
  /** Line of the answer whose call created the fork: the last line of that transcript that is shared. */
  readonly line: LineId;
  /** Fingerprint of the bytes of the shared messages. It differs if the transcript was changed since. */
  readonly hash: string;
  /** Calls of that answer, in order. Each gets the same placeholder as its result. */
  readonly calls: readonly CallId[];
  /** Number of newest turns that are shared; absent: all. */
  readonly turns?: number | undefined;
  /** Estimated number of shared tokens; absent if it was not estimated. */
  readonly tokens?: number | undefined;
  /** What the shared messages say about the environment; absent if they don't. */
  readonly environment?: ToldEnvironment | undefined;
}

/** Agent type that requests a fork. */
export const FORK_TYPE = "fork";

/** Precedes the directive of every fork. It is the same for siblings, so that they share its bytes too. */
export const FORK_INTRODUCTION =
  "[You are a fork of the agent above, not that agent. Do only what follows, yourself: no agents, no questions, no next steps. Your last message is your report to it, short and exact.]";

export const forkChoices = ["auto", "on", "off"] as const;
/** `auto`: in interactive sessions. */
export type ForkChoice = (typeof forkChoices)[number];
