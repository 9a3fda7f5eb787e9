import { formatCount, formatDuration, plural } from "../../../lib/index.ts";
import { oneLine } from "../../describe-call.ts";
import { outcomeMarks } from "../../progress/agent-lines.ts";
import { type AgentView, tokensOf } from "../../progress/agent-view.ts";

/** The tree of a session's agents: who, how it ended, what it took, and that by type and of all. Empty where there are none. */
export function renderAgents(agents: readonly AgentView[], { inUse }: { readonly inUse: boolean }): string {
  if (agents.length === 0) return "";
  const lines = agents.map((agent) => renderAgent(agent, inUse));
  const types = [...new Set(agents.map(({ agentType }) => agentType))];
  const byType = types.map((type) => {
    return `${oneLine(type)} · ${totalOf(agents.filter(({ agentType }) => agentType === type))}`;
  });
  const totals = [...(types.length < 2 ? [] : byType), totalOf(agents)].map((total) => `  ── ${total}`);
  return `\nAgents\n${[...lines, ...totals].join("\n")}\n`;
}

function totalOf(agents: readonly AgentView[]): string {
  const tokens = agents.reduce((sum, { usage }) => sum + tokensOf(usage), 0);
  const cost = costOf(agents.map(({ costUsd }) => costUsd));
  return `${plural(agents.length, "agent")} · ${formatCount(tokens)} tokens · ${cost}`;
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
