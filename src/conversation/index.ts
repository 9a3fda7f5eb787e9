// Owns: conversations as immutable bytes (heads, segments, chunks, serializers, forks, marks, fingerprints,
// compaction). Does not own: when to compact or fork (runs), how bytes are transmitted (model), how they are stored
// (transcript). Called by: runs, reports, and model for the wire formats.
export { Chain, canFollowSummary, type PackedChain, type WrittenPrompt } from "./chain.ts";
export {
  type CacheDifference,
  cacheDifference,
  excerptAt,
  type PrefixPoint,
  type PrefixPoints,
  prefixPoints,
} from "./compare-requests.ts";
export { continuedHead, isSameModel } from "./continued-head.ts";
export { headFingerprints, headLength } from "./head-bytes.ts";
export { lifetimeAt } from "./request-body.ts";
export type { SharedPrefix } from "./segment-buffer.ts";
export { SERIALIZER_VERSION } from "./serialize/dialects.ts";
export { takesToolsOnlyWithoutReasoning } from "./serialize/openai.ts";
export { providedSummary, SUMMARY_OPENING, sendsThinking, summaryIn, withoutThinking } from "./thinking.ts";
