// Owns: reports on what prompt caches saved, and what they missed, in a recorded session. Does not own: reading
// transcripts (transcript), the bytes of requests (conversation). Called by: app, for `retinue cache`.
export type { AgentFigures, CacheFigures } from "./cache-figures.ts";
export {
  type CacheReport,
  type ExplainedRequest,
  explainCache,
  reportCache,
} from "./cache-report.ts";
