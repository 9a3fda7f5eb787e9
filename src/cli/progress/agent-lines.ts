import {
  type AgentView,
  activityWords,
  lastLineOf,
  oneLine,
  outcomeMarks,
  stateOf,
  tokensOf,
} from "../../client/index.ts";
import { formatCount, formatDuration, plural } from "../../lib/index.ts";
import { displayWidth, fitLine } from "../fit-line.ts";

interface LinesLayout {
  readonly columns: number;
  /** Maximum number of lines. */
  readonly rows: number;
  readonly now: number;
  /** Symbol that marks a running agent. */
  readonly frame: string;
}

/** Renders one line for each agent, in the given order. If there are too many, running agents take precedence. */
export function agentLines(
  agents: readonly AgentView[],
  { columns, rows, now, frame }: LinesLayout,
): readonly string[] {
  if (rows < 1) return [];
  const shown = agents.length <= rows ? new Set(agents) : chosen(agents, rows - 1);
  const lines = agents.filter((agent) => shown.has(agent)).map((agent) => agentLine(agent, { columns, now, frame }));
  if (shown.size === agents.length) return lines;
  return [...lines, fitLine(`  … ${restSummary(agents.filter((agent) => !shown.has(agent)))}`, columns)];
}

export function agentLine(
  agent: AgentView,
  { columns, now, frame }: { readonly columns: number; readonly now: number; readonly frame: string },
): string {
  const { end, path, startedAt, toolCalls, usage } = agent;
  const mark = end === undefined ? frame : outcomeMarks[end.outcome];
  const indent = "  ".repeat(Math.min(path.length, 8));
  const state = isWriting(agent) ? lastLineOf(agent) || activityWords(agent) : activityWords(agent);
  const tail = [
    ...(toolCalls === 0 ? [] : [plural(toolCalls, "call")]),
    ...(tokensOf(usage) === 0 ? [] : [`${formatCount(tokensOf(usage))} tokens`]),
    formatElapsed(end?.milliseconds ?? now - startedAt),
  ].join(" · ");
  const width = columns - displayWidth(tail) - 3;
  const parts = { name: `${indent}${mark} ${titleOf(agent)}`, suffix: suffixOf(agent), state };
  // In a narrow terminal, the activity is more useful than the numbers.
  if (width < 24) return fitTogether(parts, columns);
  return fitLine(`${fitTogether(parts, width)} · ${tail}`, columns);
}

interface LineParts {
  readonly name: string;
  /** Text that is left out if it does not fit completely. */
  readonly suffix: string;
  readonly state: string;
}

/** Joins the parts of a line. If there is not enough room, the name and the state get about half of the line each. */
function fitTogether({ name, suffix, state }: LineParts, columns: number): string {
  const width = Math.max(Math.floor((columns - 3) / 2), columns - 3 - displayWidth(state));
  const kept = displayWidth(suffix) * 2 > width ? "" : suffix;
  return fitLine(`${fitLine(name, width - displayWidth(kept))}${kept} · ${state}`, columns);
}

export function nameOf(agent: AgentView): string {
  return `${titleOf(agent)}${suffixOf(agent)}`;
}

function titleOf({ agentType, description, agentId }: AgentView): string {
  return `${oneLine(agentType)} ${oneLine(description) || agentId}`;
}

function suffixOf({ background }: AgentView): string {
  return background ? " (background)" : "";
}

/**
 * Returns whether an agent is running without performing calls, so that its own words best describe what it is doing.
 */
function isWriting(agent: AgentView): boolean {
  return stateOf(agent) === "running" && agent.calls.every(({ requestedAt }) => requestedAt === undefined);
}

/** Chooses running agents first, then those that ended most recently. */
function chosen(agents: readonly AgentView[], count: number): ReadonlySet<AgentView> {
  const running = agents.filter(({ end }) => end === undefined);
  const endedAt = ({ startedAt, end }: AgentView): number => startedAt + (end?.milliseconds ?? 0);
  const ended = agents.filter(({ end }) => end !== undefined).sort((left, right) => endedAt(right) - endedAt(left));
  return new Set([...running, ...ended].slice(0, count));
}

function restSummary(rest: readonly AgentView[]): string {
  const counts = new Map<string, number>();
  for (const { end } of rest) {
    const state = end?.outcome ?? "running";
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return `${formatCount(rest.length)} more: ${[...counts].map(([state, count]) => `${formatCount(count)} ${state}`).join(", ")}`;
}

export function formatElapsed(milliseconds: number): string {
  const elapsed = Math.max(0, milliseconds);
  return elapsed < 60_000 ? `${Math.floor(elapsed / 1000)}s` : formatDuration(elapsed);
}
