import { judgeAgent } from "../agents/index.ts";
import { delegationList } from "../definitions/index.ts";
import type { ToolFace } from "../ports/index.ts";
import type { AgentDefinition, Policy, Rule, Settings } from "../protocol/index.ts";
import { delegationFaces } from "../runs/index.ts";
import type { Household } from "./household.ts";
import { mayBackground } from "./may-background.ts";
import type { Environment } from "./places.ts";

export interface DelegationPlace {
  readonly household: Household;
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
  household,
  settings,
  environment,
  rules,
  forks,
  interactive,
}: DelegationPlace): readonly ToolFace[] {
  const { subagents = {} } = settings;
  // Where nobody looks on there is no status line; who asks for it by name gets it.
  const offered = offeredAgents(household, { rules }).filter((agent) => interactive || !setsUpStatusLine(agent));
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

/** Those that no rule denies and that do not hide. */
export function offeredAgents(
  { definitions }: Household,
  { rules, layers }: Pick<Policy, "rules" | "layers">,
): readonly AgentDefinition[] {
  const known = offers.get(definitions);
  if (known?.rules === rules && known.layers === layers) return known.offered;
  const policy = { rules, ...(layers === undefined ? {} : { layers }) };
  const offered = definitions.filter(({ name, hidden }) => !hidden && judgeAgent(name, policy).effect !== "deny");
  offers.set(definitions, { rules, layers, offered });
  return offered;
}

/** Every call that gives work away wants to know, and hundreds may come at once. */
const offers = new WeakMap<readonly AgentDefinition[], Offer>();

interface Offer {
  readonly rules: Policy["rules"];
  readonly layers: Policy["layers"] | undefined;
  readonly offered: readonly AgentDefinition[];
}
