import type { AgentDefinition, Policy } from "../protocol/index.ts";
import type { Acceptance } from "../runs/index.ts";

export interface MainAcceptance {
  readonly definition: Pick<Partial<AgentDefinition>, "acceptance">;
  /** Given by who opens the session. */
  readonly given: readonly string[];
  /** Of the session's own agent. */
  readonly policy: Policy;
}

/** What the work of a session's own agent has to stand. The host runs the commands, so it needs no shell of its own. */
export function mainAcceptance({ definition, given, policy }: MainAcceptance): { readonly acceptance?: Acceptance } {
  const own = definition.acceptance === undefined ? [] : [definition.acceptance];
  const commands = [...own, ...given];
  if (commands.length === 0) return {};
  const pool = [...new Set([...policy.pool, "Bash"])];
  return { acceptance: { commands, granted: given, policy: { ...policy, pool } } };
}
