import { formatCount, formatDuration, plural } from "../lib/index.ts";
import { outcomeMarks } from "./agent-lines.ts";
import { type AgentView, tokensOf } from "./agent-view.ts";
import { oneLine } from "./describe-call.ts";

/** The tree of a session's agents: who, how it ended, what it took. Empty where there are none. */
export function renderAgents(agents: readonly AgentView[], { inUse }: { readonly inUse: boolean }): string {
  if (agents.length === 0) return "";
  const lines = agents.map((agent) => renderAgent(agent, inUse));
  const tokens = agents.reduce((sum, { usage }) => sum + tokensOf(usage), 0);
  const total = `${plural(agents.length, "agent")} · ${formatCount(tokens)} tokens · ${costOf(agents.map(({ costUsd }) => costUsd))}`;
  return `\nAgents\n${lines.join("\n")}\n  ── ${total}\n`;
}

function renderAgent({ agentId, agentType, description, background, path, end, ...spent }: AgentView, inUse: boolean) {
  const mark = end === undefined ? "…" : outcomeMarks[end.outcome];
  const indent = "  ".repeat(path.length);
  const parts = [
    `${indent}${mark} ${oneLine(agentType)} ${oneLine(agentId)}`,
    ...(description === "" ? [] : [oneLine(description)]),
    ...(background ? ["background"] : []),
    stateOf(end, inUse),
    plural(spent.turns, "turn"),
    `${formatCount(tokensOf(spent.usage))} tokens`,
    costOf([spent.costUsd]),
    ...(end === undefined ? [] : [formatDuration(end.milliseconds)]),
    ...(spent.denied.length === 0 ? [] : [`${formatCount(spent.denied.length)} denied`]),
  ];
  return parts.join(" · ");
}

function stateOf(end: AgentView["end"], inUse: boolean): string {
  if (end === undefined) return inUse ? "running" : "cut off";
  return end.reason === "done" || end.reason === end.outcome ? end.outcome : `${end.outcome} (${end.reason})`;
}

function costOf(costs: readonly (number | undefined)[]): string {
  const known = costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0);
  if (!costs.includes(undefined)) return `$${known.toFixed(4)}`;
  return known === 0 ? "cost unknown" : `at least $${known.toFixed(4)}`;
}
