// Owns: reports on recorded sessions: what prompt caches saved and missed, and what fills context windows. Does not
// own: reading transcripts (transcript), the bytes of requests (conversation). Called by: app.
export type { AgentFigures, CacheFigures } from "./cache-figures.ts";
export {
  type CacheReport,
  type ExplainedRequest,
  explainCache,
  reportCache,
} from "./cache-report.ts";
export { reportContext } from "./context-report.ts";
