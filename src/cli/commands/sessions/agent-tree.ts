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
 * Renders each agent with its outcome, usage and cost, then totals by type, overall and with the main agent. Empty if
 * there are no agents.
 */
export function renderAgentTree(all: readonly AgentView[], { inUse }: { readonly inUse: boolean }): string {
  const agents = all.filter(({ agentId }) => agentId !== MAIN_AGENT);
  if (agents.length === 0) return "";
  const lines = agents.map((agent) => renderAgentLine(agent, inUse));
  const types = [...new Set(agents.map(({ agentType }) => agentType))];
  const byType = types.map((type) => {
    return `${oneLine(type)} · ${totalOf(agents.filter(({ agentType }) => agentType === type))}`;
  });
  // The main agent's own work is shown above, run by run.
  const whole = all.length > agents.length ? [`with the main agent · ${usageOf(all)}`] : [];
  const totals = [...(types.length < 2 ? [] : byType), totalOf(agents), ...whole].map((total) => `  ── ${total}`);
  return `\nAgents\n${[...lines, ...totals].join("\n")}\n`;
}

function totalOf(agents: readonly AgentView[]): string {
  return `${plural(agents.length, "agent")} · ${usageOf(agents)}`;
}

function usageOf(agents: readonly AgentView[]): string {
  const tokens = agents.reduce((sum, { usage }) => sum + tokensOf(usage), 0);
  return `${formatCount(tokens)} tokens · ${costOf(agents)}`;
}

function renderAgentLine(agent: AgentView, inUse: boolean): string {
  const { agentId, agentType, description, background, path, end, turns, usage, denied } = agent;
  const mark = end === undefined ? "…" : outcomeMarks[end.outcome];
  const indent = "  ".repeat(path.length);
  const parts = [
    `${indent}${mark} ${oneLine(agentType)} ${oneLine(agentId)}`,
    ...(description === "" ? [] : [oneLine(description)]),
    ...(background ? ["background"] : []),
    end === undefined && inUse ? "running" : endWords(end),
    plural(turns, "turn"),
    `${formatCount(tokensOf(usage))} tokens`,
    costOf([agent]),
    ...(end === undefined ? [] : [formatDuration(end.milliseconds)]),
    ...(denied.length === 0 ? [] : [`${formatCount(denied.length)} denied`]),
  ];
  return parts.join(" · ");
}

/** Adds up costs. A sum that may be lower is shown as `≤ $0.4200`, and one without all prices as `at least $0.4200`. */
export function costOf(agents: readonly Partial<Pick<AgentView, "costUsd" | "isCostAtMost">>[]): string {
  const known = agents.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0);
  const isKnown = agents.every(({ costUsd }) => costUsd !== undefined);
  const isAtMost = agents.some(({ isCostAtMost }) => isCostAtMost);
  if (isKnown) return `${isAtMost ? "≤ " : ""}$${known.toFixed(4)}`;
  if (known === 0) return "cost unknown";
  return isAtMost ? `about $${known.toFixed(4)}` : `at least $${known.toFixed(4)}`;
}
