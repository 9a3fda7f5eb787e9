import { MAIN_AGENT } from "../../protocol/index.ts";
import { type Budget, spendingIn, sumSpending } from "../../runs/index.ts";
import type { Transcript } from "../../transcript/index.ts";

/** Spending of a session and all its agents, and the remaining budget. */
export interface SessionSpending {
  /** Cost of all requests whose price is known. */
  readonly costUsd: number;
  /** Number of requests without a known price, which `costUsd` leaves out. */
  readonly unpriced: number;
  /** Input and output tokens, including those that were read from a cache. */
  readonly tokens: number;
  /** Number of requests that models have answered. */
  readonly turns: number;
  /** Number of agents that were started. */
  readonly agents: number;
  /** Remaining amount of each limit in the `budget` setting. Limits that are not set are absent. */
  readonly left: Readonly<Partial<Record<(typeof limits)[number], number | undefined>>>;
}

const limits = ["usd", "tokens", "turns", "seconds", "spawns"] as const;

/**
 * Adds up what all of a session's agents have spent, in this process and in earlier ones. A request without a response
 * costs its maximum.
 */
export async function readSpending(transcript: Transcript, budget: Budget): Promise<SessionSpending> {
  const agents = [MAIN_AGENT, ...(await transcript.agents())];
  const lines = await Promise.all(agents.map((agentId) => transcript.read(agentId)));
  const { usd: costUsd, unpriced, tokens, turns, spawns } = sumSpending(lines.map(spendingIn));
  const inBudget = budget.left();
  const left = Object.fromEntries(
    limits.flatMap((limit) => (inBudget[limit] === undefined ? [] : [[limit, inBudget[limit].left]])),
  );
  return { costUsd, unpriced, tokens, turns, agents: spawns, left };
}
