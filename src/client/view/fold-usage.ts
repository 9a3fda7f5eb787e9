import { type AgentId, addUsage, type CallId, callsOf, noUsage, paidUsage, type Usage } from "../../protocol/index.ts";
import type { ViewUpdate } from "./fold-session.ts";

/** Usage of a session's turns, in the order in which they ended. */
export interface SessionUsage {
  readonly turns: readonly UsedTurns[];
  readonly total: Usage;
  /** Sum of the known costs. */
  readonly costUsd: number;
}

/** A turn, or several consecutive turns if the session has very many. */
export interface UsedTurns {
  /** Agent and number of the first turn. */
  readonly agentId: AgentId;
  readonly turn: number;
  /** End of the first turn in milliseconds since 1970. */
  readonly at: number;
  /** First call in the response of the first turn. */
  readonly callId?: CallId | undefined;
  /** Number of turns. */
  readonly count: number;
  readonly usage: Usage;
  /** Sum of the known costs. */
  readonly costUsd: number;
}

/**
 * Maximum number of entries. If there are more, neighbors are merged, so that memory use and drawing time stay bounded.
 * All entries except the last then cover the same number of turns, so that they can be compared.
 */
const MOST = 300;

/** A session's usage before its first turn, for `foldUsage`. */
export const noSessionUsage: SessionUsage = { turns: [], total: noUsage, costUsd: 0 };

/** Adds an update's tokens and costs. Returns the same object if the update has none or can't be parsed. */
export function foldUsage(usage: SessionUsage, update: ViewUpdate): SessionUsage {
  try {
    return foldEvent(usage, update);
  } catch {
    // The view counts damaged lines.
    return usage;
  }
}

function foldEvent(usage: SessionUsage, { agentId, event }: ViewUpdate): SessionUsage {
  switch (event.type) {
    case "model.ended": {
      const { at, turn, costUsd = 0 } = event;
      const callId = callsOf(event.message)[0]?.callId;
      const used = { agentId, turn, at, callId, count: 1, usage: paidUsage(event), costUsd };
      return added({ ...usage, turns: withTurn(usage.turns, used) }, used);
    }
    case "model.failed":
    case "conversation.compacted":
    case "spend.recorded":
      return event.usage === undefined ? usage : withSpending(usage, event.usage, event.costUsd);
    case "tool.ended": {
      const spent = event.result.facts?.spent;
      return spent === undefined ? usage : withSpending(usage, spent.usage, spent.costUsd);
    }
    default:
      return usage;
  }
}

/** Adds spending outside turns, such as for a summary, to the previous turn. */
function withSpending(usage: SessionUsage, spent: Usage, costUsd = 0): SessionUsage {
  const last = usage.turns.at(-1);
  const change = { usage: spent, costUsd };
  if (last === undefined) return added(usage, change);
  const changed = { ...last, usage: addUsage(last.usage, spent), costUsd: last.costUsd + costUsd };
  return added({ ...usage, turns: usage.turns.with(-1, changed) }, change);
}

function added(usage: SessionUsage, spent: Pick<UsedTurns, "usage" | "costUsd">): SessionUsage {
  return { ...usage, total: addUsage(usage.total, spent.usage), costUsd: usage.costUsd + spent.costUsd };
}

function withTurn(turns: readonly UsedTurns[], used: UsedTurns): readonly UsedTurns[] {
  const [first, last] = [turns[0], turns.at(-1)];
  if (first !== undefined && last !== undefined && last.count < first.count) return turns.with(-1, joined(last, used));
  if (turns.length < MOST) return [...turns, used];
  const pairs = turns.flatMap((each, index) => {
    const next = turns[index + 1];
    return index % 2 === 0 && next !== undefined ? [joined(each, next)] : [];
  });
  return [...pairs, used];
}

function joined(first: UsedTurns, second: UsedTurns): UsedTurns {
  return {
    ...first,
    count: first.count + second.count,
    usage: addUsage(first.usage, second.usage),
    costUsd: first.costUsd + second.costUsd,
  };
}
