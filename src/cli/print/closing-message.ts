import type { AgentView } from "../../client/index.ts";
import { plural, stripControls } from "../../lib/index.ts";
import type { AcceptanceResult, EndReason, RunResult, SessionId } from "../../protocol/index.ts";
import { messageLines, withFlags } from "../output.ts";
import { nameOf } from "../progress/agent-lines.ts";

export interface ClosingContext {
  readonly sessionId: SessionId;
  /** The run's options that the resume command repeats. */
  readonly repeated: string;
  readonly agents: readonly AgentView[];
  /** Returns whether a sentence was already printed on standard error. */
  readonly wasReported: (sentence: string) => boolean;
  /** Whether standard output was closed by its reader, which stops the run. */
  readonly isAbandoned?: boolean | undefined;
  /** Number of prompts that are still in the queue. */
  readonly queued?: number | undefined;
}

/** Explains to a person what a run left undone, why, and how to continue. Empty if everything succeeded. */
export function closingMessage(result: RunResult, context: ClosingContext): string {
  const { queued = 0, sessionId, repeated } = context;
  const resume = ["retinue resume", sessionId, repeated].join(" ").trimEnd();
  const left =
    queued === 0
      ? []
      : [`${plural(queued, "prompt")} in the queue: "${resume}" sends ${queued === 1 ? "it" : "them"}.`];
  return `${endMessage(result, context)}${messageLines(left)}`;
}

function endMessage(result: RunResult, context: ClosingContext): string {
  const { sessionId, repeated, agents, wasReported, isAbandoned } = context;
  const { outcome, facts, acceptance } = result;
  const ofAgents = outcome === "stopped" ? stoppedLines(agents) : incompleteLines(agents, facts.agentsCut);
  const resume = ["retinue -p --resume", sessionId, withoutReachedLimit(repeated, result)].join(" ").trimEnd();
  if (outcome === "succeeded" && acceptance?.ok === false) {
    const output = acceptance.output === "" ? "" : `${stripControls(acceptance.output)}\n`;
    return `${messageLines([...ofAgents, acceptanceFailure(acceptance)])}${output}${messageLines([`To continue: ${resume} "…"`])}`;
  }
  if (outcome === "succeeded") {
    const prompt = resumePrompt(agents);
    return messageLines([...ofAgents, ...(prompt === undefined ? [] : [`To continue: ${resume} "${prompt}"`])]);
  }
  const why =
    isAbandoned && outcome === "stopped"
      ? "Standard output was closed by its reader, so the run was stopped. Its work is kept."
      : (result.message ?? `The run ended: ${result.reason}.`);
  // If the model gives up, its text says why, and that is already on standard output.
  const reason = why.trim() === result.text.trim() || wasReported(why) ? [] : [why];
  const unverified = acceptance?.ok === false && acceptance.verdict !== undefined ? [acceptance.output] : [];
  return messageLines([
    ...ofAgents,
    ...reason,
    ...unverified,
    `To continue: ${resume}${cutOff.has(result.reason) ? "" : ' "…"'}`,
  ]);
}

/**
 * Leaves out the value of a limit that the run reached, because with the same limit the next run would end immediately.
 */
function withoutReachedLimit(repeated: string, { reason, message = "" }: RunResult): string {
  if (reason === "max_turns") return repeated.replace(/--max-turns \S+/, "--max-turns …");
  if (reason !== "budget") return repeated;
  return repeated.replace(/(--max-[a-z]+) \S+/g, (given, option) =>
    withFlags(message).includes(option) ? `${option} …` : given,
  );
}

/**
 * Reasons for which a run ends before the agent has answered, so that the session can continue without a new prompt.
 */
const cutOff: ReadonlySet<EndReason> = new Set([
  "interrupted",
  "stopped",
  "parked",
  "max_turns",
  "timeout",
  "stall",
  "model_error",
]);

/** Returns the message that is shown immediately after the first Ctrl+C, and that explains its effect. */
export function interruptMessage(agents: readonly AgentView[]): string {
  const running = agents.filter(({ end }) => end === undefined);
  const foreground = running.filter(({ background }) => !background).length;
  const others = running.length - foreground;
  const whom = foreground === 0 ? "" : ` and ${plural(foreground, "agent")} that it is waiting for`;
  const rest =
    others === 0
      ? ""
      : `; ${plural(others, "agent")} in the background ${others === 1 ? "ends" : "end"} with the program`;
  return `Interrupting the main agent${whom}${rest}. Press Ctrl+C again to quit immediately.`;
}

/** Explains in one sentence why the acceptance check failed. */
export function acceptanceFailure({ command, exitCode, verdict }: AcceptanceResult): string {
  if (verdict === "fail") return `The work is not verified: ${command} found problems.`;
  if (verdict !== undefined) return `The work is not verified: ${command} reached no verdict.`;
  const how = exitCode === null ? "was not run" : `ended with exit code ${exitCode}`;
  return `The work is not verified: "${command}" ${how}.`;
}

/** Lists the agents that were stopped with the run, and those with no recorded end. */
export function stoppedLines(agents: readonly AgentView[]): readonly string[] {
  const stopped = agents.filter(({ end }) => end?.outcome === "stopped");
  const left = agents.filter(({ end }) => end === undefined);
  if (stopped.length + left.length === 0) return [];
  const done = stopped.map(
    (agent) => `  stopped: ${nameOf(agent)}, after ${plural(agent.turns, "turn")} (${agent.agentId})`,
  );
  const unknown = left.map((agent) => `  no end recorded: ${nameOf(agent)} (${agent.agentId})`);
  const running = left.length === 0 ? ["  Nothing is left running."] : [];
  return [
    `${plural(stopped.length, "agent")} stopped together with the main agent.`,
    ...truncated(done),
    ...truncated(unknown),
    ...running,
  ];
}

/**
 * Lists the agents that did not finish, with reasons and advice. `count`: number of such agents according to the run.
 */
export function incompleteLines(agents: readonly AgentView[], count: number): readonly string[] {
  const incomplete = unfinished(agents);
  const lines = incomplete.map((agent) => {
    const after = `after ${plural(agent.turns, "turn")}`;
    return `${nameOf(agent)} (${agent.agentId}) was cut short ${after}: ${cutReason(agent)}`;
  });
  // The run also counts agents that were resumed later and then ended differently.
  const others = count - incomplete.length;
  return [...truncated(lines), ...(others > 0 ? [`${plural(others, "agent")} had been cut short earlier.`] : [])];
}

/** Returns a prompt for the main agent that resumes its unfinished agents; undefined if it has none. */
export function resumePrompt(agents: readonly AgentView[]): string | undefined {
  // Deeper agents are resumed by their own parents.
  const ids = unfinished(agents).flatMap(({ agentId, path }) => (path.length === 1 ? [agentId] : []));
  if (ids.length === 0) return undefined;
  if (ids.length > 3) return "Resume the agents that were cut short.";
  return `Resume ${ids.length === 1 ? "agent" : "the agents"} ${ids.join(", ")}.`;
}

function unfinished(agents: readonly AgentView[]): readonly AgentView[] {
  return agents.filter(({ end }) => end?.outcome === "incomplete" || end?.outcome === "stopped");
}

const causes: Partial<Record<EndReason, string>> = {
  stall: "its model sent nothing for too long.",
  loop: "it repeated the same calls.",
  output_limit: "the model's response reached its length limit.",
  context_overflow: "its conversation became too long for the model's context window.",
  interrupted: "it was interrupted.",
  stopped: "it was stopped.",
};

function cutReason({ agentType, background, end }: AgentView): string {
  if (end === undefined) return "";
  const definition = `the definition of ${agentType}`;
  if (end.reason === "max_turns") return `it reached its turn limit. To raise it, set maxTurns in ${definition}.`;
  if (end.reason === "timeout") {
    const setting = background ? "background.waitSeconds" : "subagents.timeoutSeconds";
    return `it reached its time limit. To raise it, set ${setting} in your settings, or timeout in ${definition}.`;
  }
  return causes[end.reason] ?? end.message ?? `${end.reason}.`;
}

const MAX_LISTED = 10;

/** Truncates a list; `sessions show` lists all agents. */
function truncated(lines: readonly string[]): readonly string[] {
  if (lines.length <= MAX_LISTED) return lines;
  return [...lines.slice(0, MAX_LISTED), `  … and ${lines.length - MAX_LISTED} more`];
}
