import { addUsage, type Line, noUsage, paidUsage } from "../protocol/index.ts";
import type { BudgetSpent } from "./budget.ts";
import { tokensOf } from "./budget-account.ts";

/**
 * What agents spent together, by their transcripts: for `Budget.restore` after a restart. Of time only that of requests
 * is known for certain, so seconds are the least it can have been.
 */
export function spentOf(transcripts: Iterable<readonly Line[]>): BudgetSpent {
  let usage = noUsage;
  let [usd, turns, spawns, unpriced] = [0, 0, 0, 0];
  const times: Span[] = [];
  for (const line of [...transcripts].flat()) {
    if (line.type === "agent.spawned") spawns += 1;
    if (isRequest(line) && line.milliseconds) times.push({ from: line.at - line.milliseconds, to: line.at });
    const spent = line.type === "tool.ended" ? line.result.facts?.spent : isRequest(line) ? line : undefined;
    // A request that failed before it took anything was given back.
    if (spent?.usage === undefined) continue;
    usage = addUsage(usage, line.type === "model.ended" ? paidUsage(line) : spent.usage);
    turns += 1;
    if (spent.costUsd === undefined) unpriced += 1;
    else usd += spent.costUsd;
  }
  return { tokens: tokensOf(usage), usd, turns, seconds: lengthOf(times) / 1_000, spawns, unpriced };
}

type Request = Extract<Line, { type: "model.ended" | "model.failed" | "conversation.compacted" }>;

function isRequest(line: Line): line is Request {
  return line.type === "model.ended" || line.type === "model.failed" || line.type === "conversation.compacted";
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Agents side by side count once. */
function lengthOf(spans: readonly Span[]): number {
  let length = 0;
  let end = Number.NEGATIVE_INFINITY;
  for (const { from, to } of spans.toSorted((left, right) => left.from - right.from)) {
    length += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }
  return length;
}
