import { knownModels, type ListedModel, listModels, resolveProvider } from "../../model/index.ts";
import type { Settings } from "../../protocol/index.ts";
import type { Environment } from "../directories.ts";

export type { ListedModel };

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
