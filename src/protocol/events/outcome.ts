import type { AgentId, RunId, SessionId } from "../ids.ts";
import type { Usage } from "../model/usage.ts";

/** How a run ended, in one word. `EndReason` says why. */
export type Outcome = "succeeded" | "incomplete" | "failed" | "stopped";

/** Why a run ended. `outcomeOf` maps it to an outcome. */
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
  /** The answer does not match the schema that the program asked for. */
  | "invalid_output"
  | "model_error"
  | "journal_error"
  | "internal_error"
  | "process_lost"
  | "interrupted"
  | "stopped"
  | "parked";

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
  invalid_output: "failed",
  model_error: "failed",
  journal_error: "failed",
  internal_error: "failed",
  process_lost: "failed",
  interrupted: "stopped",
  stopped: "stopped",
  parked: "stopped",
};

export function outcomeOf(reason: EndReason): Outcome {
  return outcomes[reason];
}

/** Returns whether a run was lost with its process or parked, so that the next run can continue where it stopped. */
export function isUnfinished({ reason }: { readonly reason: EndReason }): boolean {
  return reason === "process_lost" || reason === "parked";
}

/** Actions that the runtime observed, independent of what the model reports. */
export interface RunFacts {
  /** Number of calls by tool. */
  readonly toolCalls: Readonly<Record<string, number>>;
  /**
   * Files that the run, and subagents that reported to it, changed with editing tools or the program's tools. Changes by
   * shell commands are not included.
   */
  readonly filesChanged: readonly string[];
  /** Shell commands with their exit codes. */
  readonly commands: readonly CommandFact[];
  /** Commands of subagents that reported to the run, without those that are proven to be read-only. Absent if none. */
  readonly agentCommands?: readonly string[] | undefined;
  /** Calls that were denied. */
  readonly denied: readonly DeniedFact[];
  /**
   * Calls whose effect is unknown, because the process died after the start of the call was recorded and before its
   * result was.
   */
  readonly unknown: readonly string[];
  /** Number of the run's subagents that ended before their work was done. */
  readonly agentsCut: number;
  /** Background runs that ended after this run. Their notices go to the agent's parent instead. */
  readonly unreturned?: readonly { readonly agentId: AgentId; readonly runId: RunId }[] | undefined;
}

export interface CommandFact {
  readonly command: string;
  /** null if the command was ended by a signal or is still running. */
  readonly exitCode: number | null;
  /** Set if the command is proven to be read-only. Any other command may have changed files. */
  readonly readsOnly?: true | undefined;
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

/** Combines the facts about two runs, the earlier one first. */
export function addFacts(before: RunFacts, { unreturned, ...after }: RunFacts): RunFacts {
  const toolCalls = { ...before.toolCalls };
  const agentCommands = [...(before.agentCommands ?? []), ...(after.agentCommands ?? [])];
  for (const [tool, count] of Object.entries(after.toolCalls)) toolCalls[tool] = (toolCalls[tool] ?? 0) + count;
  return {
    toolCalls,
    filesChanged: [...new Set([...before.filesChanged, ...after.filesChanged])],
    commands: [...before.commands, ...after.commands],
    agentCommands: agentCommands.length === 0 ? undefined : agentCommands,
    denied: [...before.denied, ...after.denied],
    unknown: [...before.unknown, ...after.unknown],
    agentsCut: before.agentsCut + after.agentsCut,
    unreturned,
  };
}

/**
 * A limit that ended a run, as it is described to the parent's model. The `message` of the result is for the user: it
 * names settings and options, which a model can't change.
 */
export interface ReachedLimit {
  /** Describes what happened. */
  readonly cause: string;
  /** For a budget: `session`, or the name of the agent that it belongs to. */
  readonly owner?: string | undefined;
  /** Set if the limit only prevents more agents from being started. */
  readonly spawns?: true | undefined;
  /** Set if a limit in dollars can't be enforced, because the price of the model is unknown. */
  readonly unpriced?: true | undefined;
}

/** Result of a run: how it ended and what it did. */
export interface RunEnd {
  readonly runId: RunId;
  readonly outcome: Outcome;
  readonly reason: EndReason;
  /** Explains to the user why the run ended and what to do. Absent if the run succeeded. */
  readonly message?: string | undefined;
  /** Set if the user stopped this agent, or the program did. Other agents may resume it only if the user approves. */
  readonly stoppedBy?: "person" | undefined;
  /** The limit that ended the run. */
  readonly limit?: ReachedLimit | undefined;
  /** Text of the agent's last message. */
  readonly text: string;
  /** Number of requests to the model. */
  readonly turns: number;
  /** Tokens of this agent's requests, excluding its subagents; see `session.spent()`. */
  readonly usage: Usage;
  /**
   * Cost of this agent's requests, excluding its subagents; see `session.spent()`. Absent if the model has no known
   * price.
   */
  readonly costUsd?: number | undefined;
  /** Time from the start to the end of the run. */
  readonly milliseconds: number;
  /** Time that the model's responses took. */
  readonly modelMilliseconds: number;
  /** Actions that the runtime observed. */
  readonly facts: RunFacts;
  /** Result of the acceptance check, if one was requested. */
  readonly acceptance?: AcceptanceResult | undefined;
}

/** Result of checking the agent's work. The runtime performs the check, not the agent. */
export interface AcceptanceResult {
  /** Command that was run, or the name of the agent that verified the work. */
  readonly command: string;
  readonly ok: boolean;
  /** null if the check was not run, did not exit by itself, or is not a command. */
  readonly exitCode: number | null;
  /** Last lines of the output, or the reason why the check was not run. */
  readonly output: string;
  /** Verdict of the agent that verified the work. Absent for a command. */
  readonly verdict?: Verdict | undefined;
}

/** Verdict of an agent that verified another agent's work. */
export type Verdict = "pass" | "fail" | "inconclusive";

/** End of a run, with the session and the agent that it belongs to. */
export interface RunResult extends RunEnd {
  readonly sessionId: SessionId;
  readonly agentId: AgentId;
  readonly model: string;
}

/** Identifies a background run to its parent. */
export interface RunRef {
  readonly agentId: AgentId;
  readonly runId: RunId;
}

/** Tells a parent that a background run has ended. */
export interface EndedNotice extends RunRef {
  readonly outcome: Outcome;
  /**
   * Background runs that the ended agent started and whose notices it never received. The parent gets those notices
   * together with this one.
   */
  readonly unreturned?: readonly RunRef[] | undefined;
  /** What the run changed in the workspace. Absent if it changed nothing. */
  readonly changes?: Changes | undefined;
}

/** What may be different in the workspace after a run or a call. */
export interface Changes {
  /** Files that were changed. */
  readonly files: readonly string[];
  /** Commands that may have changed files. */
  readonly commands: readonly string[];
}
