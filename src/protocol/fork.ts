import type { AgentId, CallId, LineId } from "./ids.ts";

/** Where a conversation begins that goes on from another agent's: nothing of that one's history is copied. */
export interface ForkOrigin {
  /** `fork`: the very agent, down to its bytes. `context`: another agent, with a head of its own, that knows its messages. */
  readonly kind: "fork" | "context";
  /** Whose conversation it is. */
  readonly agentId: AgentId;
  /** Of the answer whose call made it: the last line of that transcript that counts. */
  readonly line: LineId;
  /** The fingerprint of the messages they share, as bytes: a transcript that was changed since gives another. */
  readonly hash: string;
  /** Of that answer, in its order. Each gets the same placeholder as its result. */
  readonly calls: readonly CallId[];
  /** Only so many of the newest turns; absent: all there were. */
  readonly turns?: number | undefined;
  /** About how many tokens they share; absent: nobody counted. */
  readonly tokens?: number | undefined;
}

/** What is asked for where no other type of agent is. */
export const FORK_TYPE = "fork";

/** What every fork is told before its own directive: the same for siblings, so that they share its bytes too. */
export const FORK_WORDS =
  "[You are a fork of the agent above, not that agent. Do only what follows, yourself: no agents, no questions, no next steps. Your last message is your report to it, short and exact.]";

export const forkChoices = ["auto", "on", "off"] as const;
/** `auto`: where a person is there. */
export type ForkChoice = (typeof forkChoices)[number];
