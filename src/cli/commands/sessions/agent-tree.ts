import {
  type AgentView,
  endWords,
  foldSession,
  inTreeOrder,
  newSessionView,
  oneLine,
  outcomeMarks,
  tokensOf,
} from "../../../client/index.ts";
import { formatCount, formatDuration, plural } from "../../../lib/index.ts";
import { type AgentId, type Line, MAIN_AGENT } from "../../../protocol/index.ts";

export interface RecordedAgent {
  readonly agentId: AgentId;
  readonly lines: readonly Line[];
}

/**
 * Returns a session's agents as recorded in their transcripts. A parent must come before the agents that it started.
 */
export function recordedAgents(transcripts: readonly RecordedAgent[]): readonly AgentView[] {
  let view = newSessionView({ keep: 0 });
  for (const { agentId, lines } of transcripts) for (const event of lines) view = foldSession(view, { agentId, event });
  return inTreeOrder(view);
}

/**
 * Renders each agent with its outcome, usage and cost, then totals by type and overall. Empty if there are no agents.
 */
export function renderAgentTree(all: readonly AgentView[], { inUse }: { readonly inUse: boolean }): string {
  const agents = all.filter(({ agentId }) => agentId !== MAIN_AGENT);
  if (agents.length === 0) return "";
  const lines = agents.map((agent) => renderAgentLine(agent, inUse));
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

function renderAgentLine(agent: AgentView, inUse: boolean): string {
  const { agentId, agentType, description, background, path, end, turns, usage, costUsd, denied } = agent;
  const mark = end === undefined ? "…" : outcomeMarks[end.outcome];
  const indent = "  ".repeat(path.length);
  const parts = [
    `${indent}${mark} ${oneLine(agentType)} ${oneLine(agentId)}`,
    ...(description === "" ? [] : [oneLine(description)]),
    ...(background ? ["background"] : []),
    end === undefined && inUse ? "running" : endWords(end),
    plural(turns, "turn"),
    `${formatCount(tokensOf(usage))} tokens`,
    costOf([costUsd]),
    ...(end === undefined ? [] : [formatDuration(end.milliseconds)]),
    ...(denied.length === 0 ? [] : [`${formatCount(denied.length)} denied`]),
  ];
  return parts.join(" · ");
}

export function costOf(costs: readonly (number | undefined)[]): string {
  const known = costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0);
  if (!costs.includes(undefined)) return `$${known.toFixed(4)}`;
  return known === 0 ? "cost unknown" : `at least $${known.toFixed(4)}`;
}
