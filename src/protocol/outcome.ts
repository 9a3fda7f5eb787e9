import type { AgentId, RunId, SessionId } from "./ids.ts";
import type { Usage } from "./usage.ts";

export type Outcome = "succeeded" | "incomplete" | "failed" | "stopped";

/** Why a run ended, one word for each cause; `outcomeOf` says which outcome it is. */
export type EndReason =
  | "done"
  | "max_turns"
  | "budget"
  | "stall"
  | "timeout"
  | "loop"
  | "output_limit"
  | "context_overflow"
  | "refused"
  | "model_error"
  | "journal_error"
  | "internal_error"
  | "process_lost"
  | "interrupted"
  | "stopped";

const outcomes: Record<EndReason, Outcome> = {
  done: "succeeded",
  max_turns: "incomplete",
  budget: "incomplete",
  stall: "incomplete",
  timeout: "incomplete",
  loop: "incomplete",
  output_limit: "incomplete",
  context_overflow: "incomplete",
  refused: "failed",
  model_error: "failed",
  journal_error: "failed",
  internal_error: "failed",
  process_lost: "failed",
  interrupted: "stopped",
  stopped: "stopped",
};

export function outcomeOf(reason: EndReason): Outcome {
  return outcomes[reason];
}

/** What the runtime saw happen, whatever the model says happened. */
export interface RunFacts {
  readonly toolCalls: Readonly<Record<string, number>>;
  readonly filesChanged: readonly string[];
  readonly commands: readonly CommandFact[];
  readonly denied: readonly DeniedFact[];
  /** Calls whose effect nobody knows: the process died between intent and result. */
  readonly unknown: readonly string[];
  /** Agents it started that ended before their work was done. */
  readonly agentsCut: number;
  /** Runs of its agents that it did not live to be told of: who it works for is. Absent: none. */
  readonly unreturned?: readonly { readonly agentId: AgentId; readonly runId: RunId }[] | undefined;
}

export interface CommandFact {
  readonly command: string;
  /** null: it was ended by a signal or is still running. */
  readonly exitCode: number | null;
}

export interface DeniedFact {
  readonly tool: string;
  readonly input: string;
  readonly reason: string;
}

export const noFacts: RunFacts = {
  toolCalls: {},
  filesChanged: [],
  commands: [],
  denied: [],
  unknown: [],
  agentsCut: 0,
};

/** How a run ended and what it did until then. */
export interface RunEnd {
  readonly runId: RunId;
  readonly outcome: Outcome;
  readonly reason: EndReason;
  /** What to tell a person about the reason, with the cure; absent when all went well. */
  readonly message?: string | undefined;
  /** The last words of the agent. */
  readonly text: string;
  readonly turns: number;
  readonly usage: Usage;
  /** Absent where the model has no known price. */
  readonly costUsd?: number | undefined;
  readonly milliseconds: number;
  readonly modelMilliseconds: number;
  readonly facts: RunFacts;
  /** Whether the work stood the check that was asked for; absent where none was. */
  readonly acceptance?: AcceptanceResult | undefined;
}

/** Of the check that says whether an agent's work holds; made by the host, not by the agent. */
export interface AcceptanceResult {
  /** Or the name of the agent that tried to break the work. */
  readonly command: string;
  readonly ok: boolean;
  /** null: it was not run, did not end by itself, or is no command. */
  readonly exitCode: number | null;
  /** Its last lines, or why it was not run. */
  readonly output: string;
  /** Of an agent; absent for a command. */
  readonly verdict?: Verdict | undefined;
}

/** Of who tried to break something: it held, it did not, nobody knows. */
export type Verdict = "pass" | "fail" | "inconclusive";

export interface RunResult extends RunEnd {
  readonly sessionId: SessionId;
  readonly agentId: AgentId;
  readonly model: string;
}
