import type { Span, Spans } from "../../../client/index.ts";
import { formatCount } from "../../../lib/portable.ts";
import { type AgentId, canonicalToolName } from "../../../protocol/index.ts";
import { formatAge, formatCost, formatMs, formatTokens } from "../../parts/format.ts";
import { nameOf } from "../agent/agent-words.ts";
import type { GroupRow, TreeRow } from "../tree/tree-rows.ts";

/**
 * A lane in the timeline: an agent's spans, in one or more rows, or the number of a group's agents that were busy over
 * time.
 */
export type Lane = AgentLane | GroupLane;

interface LaneBase {
  /** One line, or two for a group. */
  readonly label: readonly string[];
  readonly depth: number;
  /** Distance from the first lane in pixels. */
  readonly y: number;
  readonly height: number;
}

export interface AgentLane extends LaneBase {
  readonly agentId: AgentId;
  readonly spans: readonly Span[];
}

export interface GroupLane extends LaneBase {
  readonly group: GroupRow;
  /** Spans of the group's agents. */
  readonly spans: readonly (readonly Span[])[];
}

/** Height of a row in a lane, and of the space above and below the rows. */
export const ROW = 14;
export const GAP = 5;

/** Returns the height of a lane with a number of rows. */
function heightOf(rows: number): number {
  return 2 * GAP + rows * ROW;
}

/** Returns the lanes of groups and of agents that have started, one below the other. */
export function lanesOf(rows: readonly TreeRow[], { lanes }: Spans): readonly Lane[] {
  let y = 0;
  return rows.flatMap((row): readonly Lane[] => {
    const top = y;
    if (row.kind === "group") {
      const spans = row.members.map(({ agentId }) => lanes.get(agentId)?.spans ?? []);
      const label = [`${row.isOpen ? "▾" : "▸"} ${row.type}`, `${formatCount(row.members.length)} ${row.state}`];
      y += heightOf(2);
      return [{ group: row, label, depth: 0, spans, y: top, height: heightOf(2) }];
    }
    const { agentId, path } = row.agent;
    const spans = lanes.get(agentId)?.spans;
    if (spans === undefined) return [];
    const height = heightOf(spans.reduce((most, span) => Math.max(most, span.row + 1), 1));
    y += height;
    return [{ agentId, label: [nameOf(row.agent)], depth: path.length, spans, y: top, height }];
  });
}

/** Times in milliseconds since 1970. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Makes a range longer or shorter. `about` stays where it is in the drawing; by default, the middle does. */
export function zoomed({ from, to }: Range, factor: number, about = (from + to) / 2): Range {
  const fixed = Math.max(from, Math.min(to, about));
  return { from: fixed - (fixed - from) * factor, to: fixed + (to - fixed) * factor };
}

interface Times {
  /** Start of the session. */
  readonly zero: number;
  /** End of open spans. */
  readonly end: number;
}

interface SpanPlace extends Times {
  /** The session's directory. Paths below it are shown relative to it. */
  readonly cwd?: string | undefined;
}

/** Describes a bar: what it represents, its time, and its tokens and cost. */
export function spanWords(span: Span, { zero, end, cwd }: SpanPlace): readonly string[] {
  const until = span.end ?? end;
  const { target = "" } = span;
  const shown = cwd !== undefined && target.startsWith(`${cwd}/`) ? target.slice(cwd.length + 1) : target;
  const name = span.turn === undefined ? canonicalToolName(span.name) : span.name;
  const called = shown === "" ? name : `${name} ${shown}`;
  const what = span.kind === "asking" ? `${called}, waiting for you` : called;
  const range = `${axisWords(span.start - zero)} to ${axisWords(until - zero)}`;
  const spent = span.tokens === undefined ? [] : [`${formatTokens(span.tokens)} tokens, ${formatCost(span.costUsd)}`];
  return [
    `${what}${span.result === undefined ? "" : `, ${resultWords[span.result]}`}`,
    `${formatMs(until - span.start)}, from ${range}`,
    ...spent,
  ];
}

const resultWords = {
  failed: "failed",
  stopped: "stopped",
  lost: "cut off when its process was lost",
} as const satisfies Record<NonNullable<Span["result"]>, string>;

/** Describes a group, and how many of its agents were busy at a given time. */
export function groupWords({ group, spans }: GroupLane, { zero, end }: Times, time?: number): readonly string[] {
  const { type, state, members, isOpen } = group;
  const busy = (at: number): number =>
    spans.filter((each) => each.some((span) => span.start <= at && (span.end ?? end) > at)).length;
  return [
    `${formatCount(members.length)} ${type} agents, ${state}`,
    ...(time === undefined ? [] : [`${formatCount(busy(time))} busy at ${axisWords(time - zero)}`]),
    time === undefined
      ? isOpen
        ? "Enter closes the group"
        : "Enter shows the agents"
      : isOpen
        ? "Click to close the group"
        : "Click to show the agents",
  ];
}

/** Formats an axis label: the time since the session started. */
export function axisWords(since: number, step = 1): string {
  if (since < 1) return "0";
  return since < 6e4 || step < 1e3 ? formatMs(since).replace(".0 s", " s") : formatAge(since);
}
