import { delegationList } from "../definitions/index.ts";
import type { ToolFace } from "../ports/index.ts";
import type { AgentDefinition, Rule, Settings } from "../protocol/index.ts";
import { delegationFaces, offeredAgents } from "../runs/index.ts";
import type { LoadedAgents } from "./available-agents.ts";
import { mayBackground } from "./may-background.ts";
import type { Environment } from "./places.ts";

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
}: DelegationPlace): readonly ToolFace[] {
  const { subagents = {} } = settings;
  // Where nobody looks on there is no status line; who asks for it by name gets it.
  const offered = offeredAgents(agents, { rules }).filter((agent) => interactive || !setsUpStatusLine(agent));
  if (offered.length === 0 || subagents.maxDepth === 0) return [];
  return delegationFaces({
    list: delegationList(offered),
    background: mayBackground({ settings, environment }),
    parallel: subagents.parallel !== false,
    forks,
  });
}

function setsUpStatusLine({ source, name }: AgentDefinition): boolean {
  return source === "built-in" && name === "statusline-setup";
}
