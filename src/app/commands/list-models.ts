import {
  knownModels,
  type ListedModel,
  type LookedUpModel,
  listModels,
  lookUpModel,
  type ModelFacts,
  modelFacts,
  type ProviderRequest,
  resolveProvider,
  type SurveyedProvider,
  surveyProviders,
  withoutDate,
} from "../../model/index.ts";
import type { Settings } from "../../protocol/index.ts";
import type { Environment } from "../directories.ts";

export type { ListedModel, LookedUpModel, ModelFacts };
export { lookUpModel };

export interface ModelsOptions {
  readonly settings: Settings;
  readonly environment: Environment;
  readonly provider: string;
}

/**
 * Lists the provider's models that the user can choose. Asks the provider if no models are known locally. Never rejects.
 */
export async function modelsOf({ settings, environment, provider }: ModelsOptions): Promise<readonly ListedModel[]> {
  const choice = resolveProvider({ settings, environment, flags: { provider, model: `${provider}/any` } });
  if (choice.kind !== "wire") return [];
  const known = knownModels(choice.provider);
  if (known.length > 0) return known;
  const listed = await listModels(choice.provider).catch(() => undefined);
  return listed?.ok === true ? listed.models.map((model) => ({ model, tiers: [] })) : [];
}

/** A provider and its models. */
export interface ListedProvider {
  readonly provider: string;
  /** Whether the settings, the environment or an option name the provider. */
  readonly isConfigured: boolean;
  /** Environment variable that contains the key. */
  readonly keyVariable?: string | undefined;
  /** Why the provider can't be used, or could not be asked for its models. */
  readonly problem?: string | undefined;
  /** Known models, those of the tiers first. */
  readonly models: readonly (ModelFacts & {
    /** Whether the provider lists the model for this key. Absent if it was not asked, or did not answer. */
    readonly isReachable?: boolean | undefined;
  })[];
  /** Models that the provider lists and Retinue knows nothing about. */
  readonly others: readonly string[];
}

/** Lists known models, and asks each provider that is configured which models the key can reach. Never rejects. */
export async function listProviders(request: ProviderRequest): Promise<readonly ListedProvider[]> {
  return Promise.all(surveyProviders(request).map(listProvider));
}

async function listProvider({ entry, resolved, problem, isConfigured }: SurveyedProvider): Promise<ListedProvider> {
  const list = resolved && isConfigured ? await listModels(resolved).catch(() => undefined) : undefined;
  const reached = list?.ok ? list.models : undefined;
  const known = knownModels(entry).map(({ model }) => modelFacts(entry, model));
  const isOf = (id: string, model: string): boolean => id === model || withoutDate(id) === model;
  return {
    provider: entry.name,
    isConfigured,
    keyVariable: resolved?.keyVariable,
    problem: list?.ok === false ? list.message : problem,
    models: known.map((facts) => ({ ...facts, isReachable: reached?.some((id) => isOf(id, facts.model)) })),
    others: reached?.filter((id) => !known.some(({ model }) => isOf(id, model))) ?? [],
  };
}
