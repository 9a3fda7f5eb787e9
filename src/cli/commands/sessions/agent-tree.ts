import { formatCount, formatDuration, plural } from "../../../lib/index.ts";
import { type AgentId, type Line, MAIN_AGENT, type RunEnd, type SubagentEvent } from "../../../protocol/index.ts";
import { oneLine } from "../../describe-call.ts";
import { outcomeMarks } from "../../progress/agent-lines.ts";
import type { AgentTranscript } from "../../progress/agent-transcripts.ts";
import { type AgentView, foldAgent, newAgentView, tokensOf } from "../../progress/agent-view.ts";
import { createAgentViews } from "../../progress/agent-views.ts";

/** Returns the agents of a session as recorded in their transcripts. */
export function recordedAgents(transcripts: readonly AgentTranscript[]): readonly AgentView[] {
  const parents = new Map<AgentId, AgentId>();
  for (const { agentId, lines } of transcripts) {
    const [created] = lines;
    if (created?.type === "agent.created") parents.set(agentId, created.parent.agentId);
  }
  const views = createAgentViews();
  for (const { agentId, lines } of transcripts) {
    const [created] = lines;
    const agentType = created?.type === "agent.created" ? created.agentType : "unknown";
    const envelope = { type: "subagent.event", agentId, agentType, path: pathTo(agentId, parents) } as const;
    for (const event of lines) observeAny(views, { ...envelope, event });
  }
  return views.inOrder();
}

/**
 * Renders each agent with its outcome, usage and cost, then totals by type and overall. Empty if there are no agents.
 */
export function renderAgentTree(agents: readonly AgentView[], { inUse }: { readonly inUse: boolean }): string {
  if (agents.length === 0) return "";
  const lines = agents.map((agent) => renderAgentLine(agent, inUse));
  const types = [...new Set(agents.map(({ agentType }) => agentType))];
  const byType = types.map((type) => {
    return `${oneLine(type)} · ${totalOf(agents.filter(({ agentType }) => agentType === type))}`;
  });
  const totals = [...(types.length < 2 ? [] : byType), totalOf(agents)].map((total) => `  ── ${total}`);
  return `\nAgents\n${[...lines, ...totals].join("\n")}\n`;
}

/** Returns one agent as recorded in its transcript. */
export function recordedAgent({ agentId, lines }: Pick<AgentTranscript, "agentId" | "lines">): AgentView {
  const named = lines.find((line) => line.type === "agent.created" || line.type === "run.started");
  const agentType = named?.agentType ?? "unknown";
  const path = agentId === MAIN_AGENT ? [] : [agentId];
  const [first] = lines;
  let view = newAgentView({ agentId, agentType, path }, first?.at ?? 0);
  for (const line of lines) view = foldAny(view, line);
  return view;
}

function foldAny(view: AgentView, line: Line): AgentView {
  try {
    return foldAgent(view, line, line.at);
  } catch {
    return view;
  }
}

function observeAny(views: ReturnType<typeof createAgentViews>, event: SubagentEvent): void {
  try {
    views.observe(event, "at" in event.event ? event.event.at : 0);
  } catch {
    // A damaged line must not hide the others. `sessions show` for the agent still shows the line.
  }
}

function pathTo(agentId: AgentId, parents: ReadonlyMap<AgentId, AgentId>): readonly AgentId[] {
  const path: AgentId[] = [];
  for (let at: AgentId | undefined = agentId; at !== undefined && at !== MAIN_AGENT; at = parents.get(at)) {
    // A damaged file can make an agent its own ancestor.
    if (path.includes(at)) break;
    path.unshift(at);
  }
  return path;
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
    end === undefined && inUse ? "running" : endText(end),
    plural(turns, "turn"),
    `${formatCount(tokensOf(usage))} tokens`,
    costOf([costUsd]),
    ...(end === undefined ? [] : [formatDuration(end.milliseconds)]),
    ...(denied.length === 0 ? [] : [`${formatCount(denied.length)} denied`]),
  ];
  return parts.join(" · ");
}

/** Describes how a run ended. `end` is undefined if its process ended before it did. */
export function endText(end: Pick<RunEnd, "outcome" | "reason"> | undefined): string {
  if (end === undefined) return "cut off";
  return end.reason === "done" || end.reason === end.outcome ? end.outcome : `${end.outcome} (${end.reason})`;
}

export function costOf(costs: readonly (number | undefined)[]): string {
  const known = costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0);
  if (!costs.includes(undefined)) return `$${known.toFixed(4)}`;
  return known === 0 ? "cost unknown" : `at least $${known.toFixed(4)}`;
}
