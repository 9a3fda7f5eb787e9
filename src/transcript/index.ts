// Owns: transcripts on disk: append, write-ahead log, repair, reading, locks, heads, results, approvals, the list of sessions, clean-up.
// Does not own: what events mean (loop, client), which session to open (cli, app), who is asked (runs).
// Called by: app.
export { checkHome, type HomeCheck } from "./check-home.ts";
export { type CleanUp, cleanUp } from "./clean-up.ts";
export { cleanUpDaily, type DailyCleanUp } from "./clean-up-daily.ts";
export { deleteSession } from "./delete-session.ts";
export type { ListedRequest, RequestSearch } from "./list-requests.ts";
export {
  type FoundSession,
  findSession,
  latestSessionId,
  listSessions,
  type SessionPlace,
  type SessionSearch,
} from "./list-sessions.ts";
export { createMemorySession } from "./memory-session.ts";
export { listRequests, openInbox } from "./open-inbox.ts";
export type { Problem } from "./parse-transcript.ts";
export type { Trouble } from "./patience.ts";
export { type ReadSession, readSession } from "./read-session.ts";
export { type ReadTranscript, readTranscript } from "./read-transcript.ts";
export { createSession, openSession, type Session, type SessionOptions } from "./session.ts";
export type { SessionSummary } from "./summarize-session.ts";
