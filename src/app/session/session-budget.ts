import type { Clock } from "../../ports/index.ts";
import type { AgentBudget, AgentDefinition, Settings } from "../../protocol/index.ts";
import { type Budget, type BudgetSpent, createBudget } from "../../runs/index.ts";

export interface SessionBudgetOptions {
  readonly settings: Settings;
  /** The definition of the session's main agent. */
  readonly definition: Pick<AgentDefinition, "budget">;
  readonly clock: Clock;
  /** Set for a resumed session. Called only if there are limits, because it reads all transcripts. */
  readonly spentBefore?: (() => Promise<BudgetSpent>) | undefined;
}

/** What a session may spend in its whole life: the smaller of each limit in the settings and in its agent's definition. */
export async function sessionBudget(options: SessionBudgetOptions): Promise<Budget> {
  const { settings, definition, clock, spentBefore } = options;
  const limits = tightest(settings.budget ?? {}, definition.budget ?? {});
  const budget = createBudget({ limits, maxSpawns: settings.subagents?.maxSpawns, clock });
  if (spentBefore && Object.keys(limits).length > 0) budget.restore(await spentBefore());
  return budget;
}

function tightest(left: AgentBudget, right: AgentBudget): AgentBudget {
  const merged: Record<string, number> = { ...left };
  for (const [limit, amount] of Object.entries(right)) merged[limit] = Math.min(amount, merged[limit] ?? amount);
  return merged;
}
