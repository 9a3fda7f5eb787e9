import { delegationList } from "../../definitions/index.ts";
import type { ToolSpec } from "../../ports/index.ts";
import type { AgentDefinition, Rule, Settings } from "../../protocol/index.ts";
import { delegationSpecs, offeredAgents } from "../../runs/index.ts";
import { isBackgroundOff } from "../../settings/index.ts";
import type { LoadedAgents } from "../agents/available-agents.ts";
import type { Environment } from "../places.ts";

export interface DelegationPlace {
  readonly agents: LoadedAgents;
  readonly settings: Settings;
  readonly environment: Environment;
  readonly rules: readonly Rule[];
  /** Agents may start forks of themselves. */
  readonly forks: boolean;
  /** A person is there. */
  readonly interactive: boolean;
}

/** The tools of delegation as they are declared; none where there is nobody to give work to. */
export function offerDelegation({
  agents,
  settings,
  environment,
  rules,
  forks,
  interactive,
}: DelegationPlace): readonly ToolSpec[] {
  const { subagents = {} } = settings;
  // Where nobody looks on there is no status line; who asks for it by name gets it.
  const offered = offeredAgents(agents, { rules }).filter((agent) => interactive || !setsUpStatusLine(agent));
  if (offered.length === 0 || subagents.maxDepth === 0) return [];
  return delegationSpecs({
    list: delegationList(offered),
    background: mayBackground({ settings, environment }),
    parallel: subagents.parallel !== false,
    forks,
  });
}

function setsUpStatusLine({ source, name }: AgentDefinition): boolean {
  return source === "built-in" && name === "statusline-setup";
}

interface BackgroundPlace {
  readonly settings: Settings;
  readonly environment: Environment;
}

/** Where it is switched off, that holds for agents whose file says otherwise too. */
export function mayBackground({ settings, environment }: BackgroundPlace): boolean {
  return settings.subagents?.background !== false && !isBackgroundOff(environment);
}

interface ForkPlace {
  readonly settings: Settings;
  /** A person is there. */
  readonly interactive: boolean;
  /** The main agent only gives work to others: what it knows is what they told it. */
  readonly coordinator: boolean;
}

/** Whether agents may start forks of themselves. */
export function mayFork({ settings: { fork = "auto" }, interactive, coordinator }: ForkPlace): boolean {
  if (coordinator) return false;
  return fork === "auto" ? interactive : fork === "on";
}
