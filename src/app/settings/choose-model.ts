import { UserError } from "../../lib/index.ts";
import {
  createAnthropicSearch,
  createLimiter,
  createWireModel,
  type Limiter,
  type ProviderSearch,
  type ResolvedProvider,
  resolveProvider,
} from "../../model/index.ts";
import { createOfflineModel } from "../../offline/index.ts";
import type { Clock, Model } from "../../ports/index.ts";
import type { AgentDefinition, Settings } from "../../protocol/index.ts";
import { connectionSilenceMs } from "../../runs/index.ts";

export interface ChosenModel {
  readonly model: Model;
  readonly requested: string | null;
  readonly reason: string;
  /** Undefined for models that are not behind HTTP. */
  readonly provider?: ResolvedProvider | undefined;
  /** The provider's own web search, where it has one. */
  readonly search?: ProviderSearch;
  /** Told to the user once. */
  readonly notice?: string;
}

export interface ModelWish {
  readonly settings: Settings;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly flags: { readonly provider?: string | undefined; readonly model?: string | undefined };
  readonly clock: Clock;
  /** Who will work with it. */
  readonly agent?: AgentDefinition | undefined;
}

/**
 * Flags, then the agent's definition, then settings, then environment; nothing configured is the offline model.
 * Throws what a person must repair.
 */
export function chooseModel(wish: ModelWish): ChosenModel {
  const { agent, settings, flags } = wish;
  const wanted = agent?.model;
  // `inherit` is the parent's model, and a main agent has no parent.
  if (agent === undefined || wanted === undefined || wanted === "inherit" || flags.model) return chooseFor(wish);
  const asked = { ...wish, settings: { ...settings, model: wanted } };
  const choice = resolveProvider(asked);
  if (choice.kind === "problem") {
    const notice = `Agent "${agent.name}" asks for the model ${wanted}: ${choice.message} It works with another one.`;
    const chosen = chooseFor(wish);
    return { ...chosen, notice: [chosen.notice, notice].filter(Boolean).join(" ") };
  }
  const chosen = chooseFor(asked);
  return { ...chosen, reason: chosen.reason.replaceAll("settings model", `agent ${agent.name}`) };
}

function chooseFor({ settings, environment, flags, clock }: ModelWish): ChosenModel {
  const choice = resolveProvider({ settings, environment, flags });
  if (choice.kind === "problem") throw new UserError(choice.message, { code: "provider", exitCode: 2 });
  if (choice.kind === "offline") {
    return { model: createOfflineModel(), requested: flags.model ?? null, reason: "offline", notice: choice.notice };
  }
  const { provider, model, reason, requested } = choice;
  const wire = { provider, model, limiter: limiterOf(provider, clock), clock, idleMs: connectionSilenceMs(settings) };
  const search = provider.name === "anthropic" ? { search: createAnthropicSearch(wire) } : {};
  return { model: createWireModel(wire), requested, reason, provider, ...search };
}

const limiters = new Map<string, Limiter>();

/** One limiter per provider for the whole process. */
function limiterOf({ name, baseUrl }: ResolvedProvider, clock: Clock): Limiter {
  const key = `${name} ${baseUrl}`;
  const known = limiters.get(key);
  if (known) return known;
  const made = createLimiter({ clock });
  limiters.set(key, made);
  return made;
}
