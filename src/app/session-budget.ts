import type { Clock } from "../ports/index.ts";
import type { AgentBudget, AgentDefinition, Settings } from "../protocol/index.ts";
import { type Budget, createBudget } from "../runs/index.ts";

export interface BudgetPlace {
  readonly settings: Settings;
  /** Of the session's own agent. */
  readonly definition: Pick<AgentDefinition, "budget">;
  readonly clock: Clock;
}

/** What a session may spend: of settings and its agent's definition, of each limit the smaller. */
export function sessionBudget({ settings, definition, clock }: BudgetPlace): Budget {
  const limits = tightest(settings.budget ?? {}, definition.budget ?? {});
  return createBudget({ limits, maxSpawns: settings.subagents?.maxSpawns, clock });
}

function tightest(left: AgentBudget, right: AgentBudget): AgentBudget {
  const merged: Record<string, number> = { ...left };
  for (const [limit, amount] of Object.entries(right)) merged[limit] = Math.min(amount, merged[limit] ?? amount);
  return merged;
}
