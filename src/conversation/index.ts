// Owns: conversations as frozen bytes: heads, segments, chunks, dialects' serialisers, forks, cache marks, compaction of a chain.
// Does not own: when to compact or fork (runs), how bytes travel (model), how they are stored (transcript).
// Called by: runs, and model through the Prompt port.
export type { CacheDifference } from "./cache-difference.ts";
export { cacheDifference } from "./cache-difference.ts";
export { Chain, canFollowSummary } from "./chain.ts";
export { SERIALIZER_VERSION } from "./dialects.ts";
export { takesToolsOnlyWithoutReasoning } from "./tools-without-reasoning.ts";
