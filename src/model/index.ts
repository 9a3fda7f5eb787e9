// Owns: talking to models: providers and their choice, wire formats, retries, the rate limiter, prices.
// Does not own: how conversations become bytes (conversation), when a model is called (runs).
// Called by: app, which makes models and gives them to runs.
export {
  createAnthropicSearch,
  type ProviderSearch,
  type ProviderSearchOutcome,
} from "./anthropic-search.ts";
export { type Connections, createConnections } from "./connections.ts";
export { describeModel } from "./describe-model.ts";
export { createLimiter, type Limiter, type LimiterState } from "./limiter.ts";
export { listModels, type ModelList } from "./list-models.ts";
export { type ProviderChoice, type ProviderWish, resolveProvider } from "./resolve-provider.ts";
export type { ResolvedProvider } from "./resolved-provider.ts";
export type { RetryPolicy } from "./retry.ts";
export { createWireModel, type WireModelOptions } from "./wire-model.ts";
