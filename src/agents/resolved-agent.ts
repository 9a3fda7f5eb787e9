import type { Head, Policy } from "../protocol/index.ts";

/** An agent ready to run: what stands before its messages, and what it may do. */
export interface ResolvedAgent {
  readonly agentType: string;
  readonly head: Head;
  readonly policy: Policy;
  /** What its agents are measured by, where it keeps less for itself; absent: its own policy. */
  readonly lends?: Policy | undefined;
  /** What is left of a subagent's pool once nobody waits for it; absent where nothing is lost. */
  readonly backgroundPool?: readonly string[];
  readonly maxTurns: number;
  /** Less than its model's window. */
  readonly contextTokens?: number;
  /** What was asked for, by name or alias; null when nobody asked. */
  readonly requestedModel: string | null;
  readonly modelReason: string;
  /** Stands at the end of every user turn. */
  readonly criticalReminder?: string;
  /** The first user turn of a new session, before the person's words. */
  readonly initialPrompt?: string;
}
