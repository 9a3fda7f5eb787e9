import {
  type AgentView,
  activityWords,
  agentOf,
  delayWords,
  elements,
  firstSentence,
  inTreeOrder,
  outcomeMarks,
  type SessionView,
  stateOf,
  stateWords,
  tokensOf,
  totalsOf,
} from "../../client/index.ts";
import { plural } from "../../lib/index.ts";
import { type AgentId, MAIN_AGENT } from "../../protocol/index.ts";
import { activitySpan } from "../conversation/call-rows.ts";
import { thousands } from "../conversation/item-rows.ts";
import { agentSpan, type Row, type Span, span } from "../screen/row.ts";
import { cleanLine, cutBefore, pad, spread } from "../screen/text.ts";

export interface PanelOptions {
  readonly columns: number;
  readonly rows: number;
  readonly now: number;
  /** Agents to list; by default, those that are working. */
  readonly listed?: readonly AgentView[] | undefined;
  /** Id of the selected agent, while the user is navigating the panel. */
  readonly selected?: string | undefined;
}

/**
 * Returns the subagents that the panel lists while nothing is selected: those that are working, then those that are
 * waiting.
 */
export function busyAgents(view: SessionView): readonly AgentView[] {
  return inTreeOrder(view).filter(({ agentId, runId, end, isCutOff }) => {
    return agentId !== MAIN_AGENT && runId !== undefined && end === undefined && !isCutOff;
  });
}

/** Returns all subagents, in the order of the tree. */
export function allAgents(view: SessionView): readonly AgentView[] {
  return inTreeOrder(view).filter(({ agentId }) => agentId !== MAIN_AGENT);
}

/** Maximum width of the panel. Figures farther to the right are hard to read. */
const MAX_COLUMNS = 130;
/** A narrower panel shows agents' activities instead of their figures. */
const NARROW = 60;

/**
 * Returns the tree of subagents: a line with totals, then one line for each agent, as many as fit. If only one line
 * fits, it is the selected agent's.
 */
export function panelRows(view: SessionView, given: PanelOptions): readonly Row[] {
  const options = { ...given, columns: Math.min(given.columns, MAX_COLUMNS) };
  const isOpen = options.selected !== undefined;
  const listed = options.listed ?? busyAgents(view);
  if (options.rows < (isOpen ? 1 : 2) || listed.length === 0) return [];
  const room = Math.max(1, options.rows - 1);
  const shown = isOpen ? around(listed, options.selected, room) : mostUrgent(listed, room);
  const isNarrow = options.columns < NARROW;
  const width = Math.min(isNarrow ? 10 : 24, Math.max(...shown.agents.map((agent) => nameWidth(agent))));
  const hasCost = shown.agents.some(({ costUsd = 0 }) => costUsd > 0);
  const rows = shown.agents.map((agent) => agentRow(agent, { ...options, width, hasCost, isNarrow }));
  if (options.rows === 1) return rows;
  return [headRow(view, { shown: shown.agents.length, listed: listed.length, columns: options.columns }), ...rows];
}

/** Returns the agents around the selected one. */
function around(agents: readonly AgentView[], selected: string | undefined, room: number) {
  const at = Math.max(
    0,
    agents.findIndex(({ agentId }) => agentId === selected),
  );
  const first = Math.max(0, Math.min(at - Math.floor(room / 2), agents.length - room));
  return { agents: agents.slice(first, first + room) };
}

/**
 * If there is no room for all agents, those that are waiting for the user are always shown. The order stays the same.
 */
function mostUrgent(agents: readonly AgentView[], room: number) {
  if (agents.length <= room) return { agents };
  const isAsking = (agent: AgentView): boolean => stateOf(agent) === "waitingForApproval";
  const others = agents.filter((agent) => !isAsking(agent));
  const kept = new Set([...agents.filter(isAsking), ...others].slice(0, room));
  return { agents: agents.filter((agent) => kept.has(agent)) };
}

interface HeadOptions {
  readonly columns: number;
  readonly shown: number;
  readonly listed: number;
}

function headRow(view: SessionView, { columns, shown, listed }: HeadOptions): Row {
  const counts = new Map<string, number>();
  for (const agent of elements(view.agents)) {
    if (agent.agentId === MAIN_AGENT) continue;
    const word = groupOf(agent);
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const parts = groups.flatMap((word) => (counts.has(word) ? [`${counts.get(word)} ${word}`] : []));
  const hidden = listed > shown ? [`${listed - shown} more`] : [];
  const { usage, costUsd, isCostKnown, isCostAtMost } = totalsOf(view);
  const cost = isCostKnown && costUsd > 0 ? ` · ${dollars(costUsd, isCostAtMost)}` : "";
  return spread(
    [
      span(`  ${plural(view.agents.length - 1, "agent")}`, "bold"),
      span(`  ${[...parts, ...hidden].join(" · ")}`, "dim"),
    ],
    [span(`${thousands(tokensOf(usage))} tokens${cost}`, "dim")],
    columns,
  );
}

const delays = Object.values(delayWords);
const groups = ["waiting for you", "working", ...delays, "waiting for agents", "succeeded", "cut", "failed", "stopped"];

function groupOf(agent: AgentView): string {
  switch (stateOf(agent)) {
    case "delayed":
      return stateWords(agent);
    case "waitingForApproval":
      return "waiting for you";
    case "waitingForAgents":
      return "waiting for agents";
    case "ended": {
      const { outcome = "incomplete" } = agent.end ?? {};
      return outcome === "incomplete" ? "cut" : outcome;
    }
    default:
      return "working";
  }
}

function nameWidth(agent: AgentView): number {
  return nameOf(agent).length + 2 * indentOf(agent);
}

function indentOf({ path }: AgentView): number {
  return Math.min(4, Math.max(0, path.length - 1));
}

export function nameOf({ name, agentType }: AgentView): string {
  return cleanLine(name ?? agentType);
}

/** Returns an agent's name and task: `Explore (call sites)`. */
export function labelOf(agent: AgentView): string {
  return agent.description === "" ? nameOf(agent) : `${nameOf(agent)} (${cleanLine(agent.description)})`;
}

/** Returns the label of the agent with this id; the id itself if the agent is unknown. */
export function labelIn(view: SessionView, agentId: AgentId): string {
  const agent = agentOf(view, agentId);
  return agent === undefined ? agentId : labelOf(agent);
}

interface RowOptions extends PanelOptions {
  readonly width: number;
  /** Whether the cost of any agent is known, so that all have a column for it. */
  readonly hasCost: boolean;
  readonly isNarrow: boolean;
}

function agentRow(agent: AgentView, { columns, now, selected, width, hasCost, isNarrow }: RowOptions): Row {
  const isSelected = agent.agentId === selected;
  const indent = "  ".repeat(indentOf(agent));
  const name = pad(`${indent}${nameOf(agent)}`, width);
  const { end, usage, costUsd, background } = agent;
  const elapsed = clock(elapsedOf(agent, now));
  const cost = costUsd !== undefined && costUsd > 0 ? dollars(costUsd, agent.isCostAtMost) : "";
  const figures = [
    elapsed.padStart(5),
    ...(isNarrow ? [] : [thousands(tokensOf(usage)).padStart(5)]),
    ...(isNarrow || !hasCost ? [] : [cost.padStart(6)]),
  ].join(" ");
  const doing = end === undefined ? activityWords(agent) : `${activityWords(agent)}${lastWords(agent)}`;
  const about = agent.description === "" ? "" : `${agent.description}: `;
  const left = [
    span(isSelected ? "› " : "  ", "accent"),
    markOf(agent),
    agentSpan(` ${name} `, agent.color, isSelected ? "bold" : undefined),
    span(cleanLine(about), "dim"),
    activitySpan(doing, stateOf(agent) === "waitingForApproval" ? "warn" : undefined),
  ];
  const place = background && end === undefined && !isNarrow ? [span("  background", "dim")] : [];
  return spread(cutBefore(left, place, columns - figures.length - 2), [span(figures, "dim")], columns);
}

/** Returns the first sentence of the agent's report. */
function lastWords({ end }: AgentView): string {
  const sentence = end?.outcome === "succeeded" ? firstSentence(end.text) : "";
  return sentence === "" ? "" : `: ${sentence}`;
}

export function markOf(agent: AgentView): Span {
  const state = stateOf(agent);
  if (state === "ended") {
    const { outcome } = agent.end ?? {};
    if (outcome === undefined) return span("!", "warn");
    return span(outcomeMarks[outcome], outcome === "succeeded" ? "good" : outcome === "failed" ? "bad" : "warn");
  }
  if (state === "waitingForApproval") return span("?", "strong");
  return span(state === "waitingForAgents" || state === "delayed" ? "○" : "●", "accent");
}

/** Returns how long an agent has worked, in all of its runs. */
export function elapsedOf({ items, end, isCutOff, startedAt }: AgentView, now: number): number {
  let ended = 0;
  for (const item of elements(items)) if (item.kind === "end") ended += item.milliseconds;
  const isOver = end !== undefined || isCutOff === true;
  return Math.max(ended, end?.milliseconds ?? 0) + (isOver ? 0 : now - startedAt);
}

/** Formats a duration: `134000` becomes `2:14`. */
export function clock(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1_000));
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  const rest = String(seconds % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

export function dollars(usd: number, isAtMost = false): string {
  if (isAtMost) return `≤${dollars(Math.max(usd, 0.01))}`;
  return usd > 0 && usd < 0.01 ? "<$0.01" : `$${usd.toFixed(2)}`;
}
