import { plural } from "../../lib/index.ts";
import type { EndReason } from "../../protocol/index.ts";
import { nameOf } from "../progress/agent-lines.ts";
import type { AgentView } from "../progress/agent-view.ts";
import { few } from "./receipt.ts";

/** Those that a limit ended, at any depth. */
export function cutAgents(agents: readonly AgentView[]): readonly AgentView[] {
  return agents.filter(({ end }) => end?.outcome === "incomplete");
}

/** Agents that did not get done, why, and what to change. `count`: as many as the run says there were. */
export function cutWords(agents: readonly AgentView[], count: number): readonly string[] {
  const cut = unfinished(agents);
  const lines = cut.map((agent) => {
    const after = `after ${plural(agent.turns, "turn")}`;
    return `${nameOf(agent)} (${agent.agentId}) was cut short ${after}: ${whyCut(agent)}`;
  });
  const others = count - cut.length;
  // One that was cut and went on later has another end by now.
  return [...few(lines), ...(others > 0 ? [`${plural(others, "agent")} had been cut short on the way.`] : [])];
}

/** Words to the main agent that let them go on; undefined: there is nobody who could. */
export function goOnPrompt(agents: readonly AgentView[]): string | undefined {
  // Agents of agents go on with those they work for.
  const ids = unfinished(agents).flatMap(({ agentId, path }) => (path.length === 1 ? [agentId] : []));
  if (ids.length === 0) return undefined;
  if (ids.length > 3) return "Go on with the agents that were cut short.";
  return `Go on with ${ids.length === 1 ? "agent" : "the agents"} ${ids.join(", ")}.`;
}

function unfinished(agents: readonly AgentView[]): readonly AgentView[] {
  return agents.filter(({ end }) => end?.outcome === "incomplete" || end?.outcome === "stopped");
}

const causes: Partial<Record<EndReason, string>> = {
  stall: "its model said nothing for too long.",
  loop: "it made the same call again and again.",
  output_limit: "the model's answer was longer than it may be.",
  context_overflow: "its conversation outgrew the model's window.",
  interrupted: "it was interrupted.",
  stopped: "it was stopped.",
};

function whyCut({ agentType, background, end }: AgentView): string {
  if (end === undefined) return "";
  const definition = `the definition of ${agentType}`;
  if (end.reason === "max_turns") return `it reached its limit of turns. To raise it, set maxTurns in ${definition}.`;
  if (end.reason === "timeout") {
    const setting = background ? "background.waitSeconds" : "subagents.timeoutSeconds";
    return `it reached its time limit. To raise it, set ${setting} in your settings, or timeout in ${definition}.`;
  }
  return causes[end.reason] ?? end.message ?? `${end.reason}.`;
}
