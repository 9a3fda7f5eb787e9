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
  /** Set if part of the cost is unknown. */
  readonly hasUnknownCost?: true | undefined;
  /** Set if `costUsd` contains the most that a request can have cost, because its response was lost. */
  readonly isCostAtMost?: true | undefined;
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
      const { at, turn } = event;
      const callId = callsOf(event.message)[0]?.callId;
      const spent = spentOn(paidUsage(event), event.costUsd);
      return withNewTurn(usage, { agentId, turn, at, callId, count: 1, ...spent });
    }
    case "spend.recorded": {
      const spent = spentOn(event.usage, event.costUsd);
      return event.estimated
        ? withLostTurn(usage, { agentId, at: event.at, ...spent })
        : withSpending(usage, agentId, spent);
    }
    case "model.failed":
    case "conversation.compacted":
      return event.usage === undefined ? usage : withSpending(usage, agentId, spentOn(event.usage, event.costUsd));
    case "tool.ended": {
      const spent = event.result.facts?.spent;
      return spent === undefined ? usage : withSpending(usage, agentId, spentOn(spent.usage, spent.costUsd));
    }
    default:
      return usage;
  }
}

type Spent = Pick<UsedTurns, "usage" | "costUsd" | "hasUnknownCost" | "isCostAtMost">;

function spentOn(usage: Usage, costUsd: number | undefined): Spent {
  return { usage, costUsd: costUsd ?? 0, hasUnknownCost: costUsd === undefined || undefined };
}

function withNewTurn(usage: SessionUsage, used: UsedTurns): SessionUsage {
  return added({ ...usage, turns: withTurn(usage.turns, used) }, used);
}

/** Adds a request whose response was lost with its process, as the agent's next turn. */
function withLostTurn(usage: SessionUsage, lost: Spent & Pick<UsedTurns, "agentId" | "at">): SessionUsage {
  const turn = (usage.turns[lastTurnOf(usage, lost.agentId)]?.turn ?? 0) + 1;
  return withNewTurn(usage, { ...lost, turn, count: 1, isCostAtMost: true });
}

/** Adds spending outside turns, such as for a summary, to the agent's last turn. */
function withSpending(usage: SessionUsage, agentId: AgentId, spent: Spent): SessionUsage {
  const index = lastTurnOf(usage, agentId);
  const last = usage.turns.at(index);
  if (last === undefined) return added(usage, spent);
  const changed = { ...joined(last, { ...last, ...spent }), count: last.count };
  return added({ ...usage, turns: usage.turns.with(index, changed) }, spent);
}

/** Returns the index of an agent's last turn. If it has none, -1, which `at` and `with` take as the last of all turns. */
function lastTurnOf({ turns }: SessionUsage, agentId: AgentId): number {
  return turns.findLastIndex((each) => each.count === 1 && each.agentId === agentId);
}

function added(usage: SessionUsage, spent: Spent): SessionUsage {
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
    hasUnknownCost: first.hasUnknownCost || second.hasUnknownCost,
    isCostAtMost: first.isCostAtMost || second.isCostAtMost,
  };
}
