// Owns: talking to models: choosing a provider, wire formats, retries, the rate limiter, prices.
// Does not own: how conversations become bytes (conversation), when a model is called (runs).
// Called by: app, which creates models and passes them to runs.
export {
  createAnthropicSearch,
  type ProviderSearch,
  type ProviderSearchOutcome,
} from "./anthropic/anthropic-search.ts";
export { createLimiter, type Limiter, type LimiterState } from "./limits/limiter.ts";
export type { RetryPolicy } from "./limits/retry.ts";
export { createProgramModel, type ProgramModelOptions } from "./program-model.ts";
export { describeModel, describeNamedModel, knownModels, type ListedModel } from "./providers/describe-model.ts";
export { listModels, type ModelList } from "./providers/list-models.ts";
export {
  type LookedUpModel,
  lookUpModel,
  type ModelFacts,
  modelFacts,
  type SurveyedProvider,
  surveyProviders,
} from "./providers/look-up-model.ts";
export { withoutDate } from "./providers/model-table.ts";
export { misspelledTier, namesOfModel, type ResolvedProvider } from "./providers/providers.ts";
export {
  type ProviderChoice,
  type ProviderRequest,
  providerBelow,
  resolveProvider,
} from "./providers/resolve-provider.ts";
export { type Connections, createConnections } from "./transport/connections.ts";
export { createWireModel, type WireModelOptions } from "./wire-model.ts";
