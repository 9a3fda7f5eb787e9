import { formatCount, formatDuration, plural } from "../../lib/index.ts";
import type { Outcome } from "../../protocol/index.ts";
import { oneLine } from "../describe-call.ts";
import { displayWidth, fitLine } from "../fit-line.ts";
import { type AgentView, tokensOf } from "./agent-view.ts";

export interface LinesView {
  readonly columns: number;
  /** The most lines there may be. */
  readonly rows: number;
  readonly now: number;
  /** The mark of what is under way. */
  readonly frame: string;
}

export const outcomeMarks: Record<Outcome, string> = { succeeded: "✓", incomplete: "!", failed: "✗", stopped: "–" };

/** One line for each agent, in the order given; those that run come first where there is not room for all. */
export function agentLines(agents: readonly AgentView[], { columns, rows, now, frame }: LinesView): readonly string[] {
  if (rows < 1) return [];
  const shown = agents.length <= rows ? new Set(agents) : chosen(agents, rows - 1);
  const lines = agents.filter((agent) => shown.has(agent)).map((agent) => agentLine(agent, { columns, now, frame }));
  if (shown.size === agents.length) return lines;
  return [...lines, fitLine(`  … ${restWords(agents.filter((agent) => !shown.has(agent)))}`, columns)];
}

export function agentLine(
  agent: AgentView,
  { columns, now, frame }: { readonly columns: number; readonly now: number; readonly frame: string },
): string {
  const { end, path, startedAt, toolCalls, usage } = agent;
  const mark = end === undefined ? frame : outcomeMarks[end.outcome];
  const indent = "  ".repeat(Math.min(path.length, 8));
  const state = end === undefined ? activityOf(agent) : endWords(agent);
  const tail = [
    ...(toolCalls === 0 ? [] : [plural(toolCalls, "call")]),
    ...(tokensOf(usage) === 0 ? [] : [`${formatCount(tokensOf(usage))} tokens`]),
    formatElapsed(end?.milliseconds ?? now - startedAt),
  ].join(" · ");
  const room = columns - displayWidth(tail) - 3;
  const parts = { name: `${indent}${mark} ${whatOf(agent)}`, place: placeOf(agent), state };
  // Where it is too narrow for both, what it does says more than numbers.
  if (room < 24) return fitTogether(parts, columns);
  return fitLine(`${fitTogether(parts, room)} · ${tail}`, columns);
}

interface LineParts {
  readonly name: string;
  /** Where it works: said whole, or where it is too narrow for that not at all. */
  readonly place: string;
  readonly state: string;
}

/** Where there is not room for both, who it is and what it does have at least about half each. */
function fitTogether({ name, place, state }: LineParts, columns: number): string {
  const room = Math.max(Math.floor((columns - 3) / 2), columns - 3 - displayWidth(state));
  const kept = displayWidth(place) * 2 > room ? "" : place;
  return fitLine(`${fitLine(name, room - displayWidth(kept))}${kept} · ${state}`, columns);
}

export function nameOf(agent: AgentView): string {
  return `${whatOf(agent)}${placeOf(agent)}`;
}

function whatOf({ agentType, description, agentId }: AgentView): string {
  return `${oneLine(agentType)} ${oneLine(description) || agentId}`;
}

function placeOf({ background }: AgentView): string {
  return background ? " (background)" : "";
}

function activityOf({ running, words, doing }: AgentView): string {
  const call = [...running.values()].at(-1);
  if (call !== undefined) return `${call}${running.size > 1 ? ` (+${running.size - 1})` : ""}`;
  const last = words.trimEnd().split("\n").at(-1) ?? "";
  return oneLine(last) || oneLine(doing);
}

function endWords({ end }: AgentView): string {
  if (end === undefined || end.reason === "done") return end?.outcome ?? "";
  return end.outcome === end.reason ? end.outcome : `${end.outcome} (${end.reason})`;
}

/** The running ones, then those that ended last. */
function chosen(agents: readonly AgentView[], count: number): ReadonlySet<AgentView> {
  const running = agents.filter(({ end }) => end === undefined);
  const endedAt = ({ startedAt, end }: AgentView): number => startedAt + (end?.milliseconds ?? 0);
  const ended = agents.filter(({ end }) => end !== undefined).sort((left, right) => endedAt(right) - endedAt(left));
  return new Set([...running, ...ended].slice(0, count));
}

function restWords(rest: readonly AgentView[]): string {
  const counts = new Map<string, number>();
  for (const { end } of rest) {
    const word = end?.outcome ?? "running";
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return `${formatCount(rest.length)} more: ${[...counts].map(([word, count]) => `${formatCount(count)} ${word}`).join(", ")}`;
}

export function formatElapsed(milliseconds: number): string {
  const elapsed = Math.max(0, milliseconds);
  return elapsed < 60_000 ? `${Math.floor(elapsed / 1000)}s` : formatDuration(elapsed);
}
