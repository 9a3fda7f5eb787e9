// Owns: conversations as frozen bytes: heads, segments, chunks, dialects' serialisers, forks, cache marks and fingerprints, compaction of a chain.
// Does not own: when to compact or fork (runs), how bytes travel (model), how they are stored (transcript).
// Called by: runs, and model through the Prompt port.
export type { CacheDifference } from "./cache-difference.ts";
export { cacheDifference, excerptAt } from "./cache-difference.ts";
export { Chain, canFollowSummary, type PackedChain, type WrittenPrompt } from "./chain.ts";
export { SERIALIZER_VERSION } from "./dialects.ts";
export { headFingerprints, headLength } from "./head-bytes.ts";
export { type PrefixPoint, type PrefixPoints, prefixPoints } from "./prefix-points.ts";
export { lifetimeAt } from "./request-body.ts";
export type { Beginning } from "./tape.ts";
export { takesToolsOnlyWithoutReasoning } from "./tools-without-reasoning.ts";
