import type { Clock, Journal } from "../ports/index.ts";
import { type AgentBudget, type AgentDefinition, MAIN_AGENT, type Settings } from "../protocol/index.ts";
import { type Budget, createBudget, spentOf } from "../runs/index.ts";

export interface BudgetPlace {
  readonly settings: Settings;
  /** Of the session's own agent. */
  readonly definition: Pick<AgentDefinition, "budget">;
  readonly clock: Clock;
  /** Absent for a session that has only begun. */
  readonly journal?: Journal;
}

/** What a session may spend in its whole life: of settings and its agent's definition, of each limit the smaller. */
export async function sessionBudget({ settings, definition, clock, journal }: BudgetPlace): Promise<Budget> {
  const limits = tightest(settings.budget ?? {}, definition.budget ?? {});
  const budget = createBudget({ limits, maxSpawns: settings.subagents?.maxSpawns, clock });
  // Without limits nobody asks, and all transcripts need not be read.
  if (journal !== undefined && Object.keys(limits).length > 0) budget.restore(await spentBefore(journal));
  return budget;
}

async function spentBefore(journal: Journal): Promise<ReturnType<typeof spentOf>> {
  const agents = [MAIN_AGENT, ...(await journal.agents())];
  return spentOf(await Promise.all(agents.map((agentId) => journal.read(agentId))));
}

function tightest(left: AgentBudget, right: AgentBudget): AgentBudget {
  const merged: Record<string, number> = { ...left };
  for (const [limit, amount] of Object.entries(right)) merged[limit] = Math.min(amount, merged[limit] ?? amount);
  return merged;
}
