import { platform } from "node:os";
import { limitHands, resolveSubagent } from "../agents/index.ts";
import { nearest } from "../lib/index.ts";
import type { Clock, Hands, Model } from "../ports/index.ts";
import type { AgentDefinition, Rule, Settings } from "../protocol/index.ts";
import { type AgentWish, clockLimits, type PreparedAgent } from "../runs/index.ts";
import { chooseModel } from "./choose-model.ts";
import type { Household, HouseholdAgent } from "./household.ts";
import { isAbout } from "./is-about.ts";
import { type Environment, existingDirectories } from "./places.ts";

export interface Preparation {
  readonly household: Household;
  readonly settings: Settings;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly cwd: string;
  /** What there is for any agent of the session. */
  readonly tools: () => ReturnType<Hands["declarations"]>;
  /** The program gave a model of its own, and there is no other. */
  readonly modelIsGiven: boolean;
}

/** A wish of one agent for another, as an agent ready to run; or why there is none. */
export async function prepareAgent(wish: AgentWish, preparation: Preparation): Promise<PreparedAgent> {
  const { household, settings, cwd } = preparation;
  const { parent, agentType, depth, background } = wish;
  const found = household.find(agentType);
  if (found === undefined) return { ok: false, message: unknownType(agentType, household) };
  const { definition } = found;
  const denial = denialOf(definition, parent.agent.policy.rules);
  if (denial !== undefined) return { ok: false, message: denial };
  const inBackground = background || definition.background === true;
  const { subagents = {} } = settings;
  const { model, requested, reason, notice } = modelFor(wish, found, preparation);
  const resolution = resolveSubagent({
    ...found,
    superior: parent.agent.policy,
    tier: {
      background: inBackground,
      depth,
      maxDepth: subagents.maxDepth ?? 1,
      mcpTools: subagents.mcpTools ?? "always",
      allowQuestions: false,
      named: wish.named,
    },
    model: model.describe(),
    requestedModel: requested,
    modelReason: reason,
    tools: preparation.tools(),
    asked: { maxTurns: wish.maxTurns },
    settings: { effort: settings.effort, maxTurns: settings.maxTurns },
    workspaceRoot: cwd,
    additionalDirectories: existingDirectories(settings.permissions?.additionalDirectories ?? []),
    readableRoots: existingDirectories(found.readableRoots),
    platform: platform(),
  });
  if (!resolution.ok) return resolution;
  return {
    ok: true,
    agent: resolution.agent,
    model,
    hands: resolution.limits.reduce(limitHands, parent.hands),
    cwd,
    tools: resolution.report,
    budget: definition.budget ?? {},
    limits: clockLimits({ definition, settings, background: inBackground, isMain: false }),
    background: inBackground,
    notices: [...found.notices, ...resolution.notices, ...(notice === undefined ? [] : [notice])],
    release: async () => {},
  };
}

/** By name, with what may have been meant: ten at most, all of them when there are no more. */
function unknownType(agentType: string, household: Household): string {
  const names = household.nearest(agentType);
  const [first] = nearest(agentType, names);
  const guess = first === undefined ? "" : ` Did you mean ${first}?`;
  return `There is no agent "${agentType}".${guess} There are ${names.join(", ")}.`;
}

/** `Task(Explore)` in a deny list: nobody gives it work, by whatever name. */
function denialOf({ name }: AgentDefinition, rules: readonly Rule[]): string | undefined {
  const rule = rules.find(({ effect, text }) => effect === "deny" && isAbout(text, name));
  return rule && `Agent "${name}" can't be used here: the ${rule.scope} rule ${rule.text} denies it.`;
}

interface SubagentModel {
  readonly model: Model;
  readonly requested: string | null;
  readonly reason: string;
  readonly notice?: string;
}

/** The call, then the definition, then the settings, then the parent's. One that can't be had is the parent's, with a notice. */
function modelFor(
  { model: called, parent, agentType }: AgentWish,
  { definition }: HouseholdAgent,
  { settings, environment, clock, modelIsGiven }: Preparation,
): SubagentModel {
  const wanted = called ?? definition.model ?? settings.subagents?.model;
  const inherited = { model: parent.model, requested: wanted ?? null };
  if (wanted === undefined) return { ...inherited, reason: "that of the agent it works for" };
  if (wanted === "inherit") return { ...inherited, reason: "inherited, as it asks" };
  const { provider, dialect } = parent.model.describe();
  if (modelIsGiven || provider === "offline") return { ...inherited, reason: "the only model there is" };
  const from = called === undefined ? `agent ${definition.name}` : "the call";
  try {
    const chosen = chooseModel({ settings: { ...settings, model: wanted, provider }, environment, clock, flags: {} });
    const reason = chosen.reason.replaceAll("settings model", from);
    return { model: chosen.model, requested: wanted, reason };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const notice = `Agent "${agentType}" (${dialect}) works with the model of its parent: ${wanted}, asked for by ${from}, can't be had. ${why}`;
    return { ...inherited, reason: `that of the agent it works for: ${wanted} can't be had`, notice };
  }
}
