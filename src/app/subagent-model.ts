import type { Clock, Model } from "../ports/index.ts";
import type { Settings } from "../protocol/index.ts";
import type { AgentWish } from "../runs/index.ts";
import { chooseModel } from "./choose-model.ts";
import type { HouseholdAgent } from "./household.ts";
import type { Environment } from "./places.ts";

export interface SubagentModel {
  readonly model: Model;
  readonly requested: string | null;
  readonly reason: string;
  readonly notice?: string;
}

export interface ModelSources {
  readonly settings: Settings;
  readonly environment: Environment;
  readonly clock: Clock;
  /** The program gave a model of its own, and there is no other. */
  readonly modelIsGiven: boolean;
}

/** The call, then the definition, then the settings, then the parent's. One that can't be had is the parent's, with a notice. */
export function subagentModel(
  { model: called, parent, agentType }: AgentWish,
  { definition }: HouseholdAgent,
  { settings, environment, clock, modelIsGiven }: ModelSources,
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
