import { chargeOf, foldUnderWay, type UnderWay } from "../../loop/index.ts";
import { addUsage, type CallId, type Line, noUsage, paidUsage, type Usage } from "../../protocol/index.ts";
import type { BudgetSpent } from "./budget.ts";
import { tokensOf } from "./budget-account.ts";

/** Spending of one agent, according to its transcript. */
export interface Spending extends Omit<BudgetSpent, "seconds" | "estimated"> {
  readonly estimated: { readonly tokens: number; readonly usd: number };
  /** Periods in which requests or tool calls were in progress. */
  readonly times: readonly Span[];
}

/** Adds up an agent's spending. A request without a recorded response costs its reserved amount. */
export function spendingIn(lines: readonly Line[]): Spending {
  let usage = noUsage;
  let [usd, turns, spawns, unpriced] = [0, 0, 0, 0];
  const estimated = { tokens: 0, usd: 0 };
  const charge = (spent: Charge | undefined): void => {
    // A request that failed before it cost anything is not counted.
    if (spent?.usage === undefined) return;
    if (spent.estimated) {
      estimated.tokens += tokensOf(spent.usage);
      estimated.usd += spent.costUsd ?? 0;
    }
    usage = addUsage(usage, spent.usage);
    turns += 1;
    if (spent.costUsd === undefined) unpriced += 1;
    else usd += spent.costUsd;
  };
  let underWay: readonly UnderWay[] = [];
  for (const line of lines) {
    underWay = foldUnderWay(underWay, line);
    if (line.type === "agent.spawned") spawns += 1;
    charge(chargeIn(line));
  }
  for (const request of underWay) charge({ ...chargeOf([request]), estimated: true });
  return { tokens: tokensOf(usage), usd, turns, spawns, unpriced, estimated, times: spansIn(lines) };
}

/** Adds up the spending of several agents, for `Budget.restore` after a restart. */
export function sumSpending(all: readonly Spending[]): BudgetSpent {
  const sum = (amount: (each: Spending) => number): number => all.reduce((total, each) => total + amount(each), 0);
  const estimated = { tokens: sum((each) => each.estimated.tokens), usd: sum((each) => each.estimated.usd) };
  return {
    tokens: sum(({ tokens }) => tokens),
    usd: sum(({ usd }) => usd),
    turns: sum(({ turns }) => turns),
    spawns: sum(({ spawns }) => spawns),
    unpriced: sum(({ unpriced }) => unpriced),
    seconds: lengthOf(all.flatMap(({ times }) => times)) / 1_000,
    estimated: estimated.tokens === 0 ? undefined : estimated,
  };
}

interface Charge {
  readonly usage?: Usage | undefined;
  readonly costUsd?: number | undefined;
  readonly estimated?: true | undefined;
}

function chargeIn(line: Line): Charge | undefined {
  if (line.type === "tool.ended") return line.result.facts?.spent;
  if (line.type === "model.ended") return { ...line, usage: paidUsage(line) };
  return line.type === "model.failed" || line.type === "conversation.compacted" || line.type === "spend.recorded"
    ? line
    : undefined;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

function spansIn(lines: readonly Line[]): readonly Span[] {
  const spans: Span[] = [];
  const started = new Map<CallId, number>();
  for (const line of lines) {
    if (line.type === "tool.started") started.set(line.callId, line.at);
    // These calls are performed by another agent, whose time is counted separately.
    if ((line.type === "agent.spawned" || line.type === "agent.resumed") && line.callId) started.delete(line.callId);
    if (line.type === "tool.ended") spans.push({ from: started.get(line.callId) ?? line.at, to: line.at });
    if (line.type === "model.ended" || line.type === "model.failed" || line.type === "conversation.compacted")
      spans.push({ from: line.at - (line.milliseconds ?? 0), to: line.at });
  }
  return spans;
}

/** Returns the total length of the spans. Time in which several agents worked in parallel is counted once. */
function lengthOf(spans: readonly Span[]): number {
  let length = 0;
  let end = Number.NEGATIVE_INFINITY;
  for (const { from, to } of spans.toSorted((left, right) => left.from - right.from)) {
    length += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }
  return length;
}
