// Owns: transcripts on disk: append, write-ahead log, repair, reading, locks, heads, results, approvals, the list of sessions, clean-up.
// Does not own: what events mean (loop, client), which session to open (cli, app), who is asked (runs).
// Called by: app.
export { type CleanUp, cleanUp } from "./catalog/clean-up.ts";
export { cleanUpDaily, type DailyCleanUp } from "./catalog/clean-up-daily.ts";
export { deleteSession } from "./catalog/delete-session.ts";
export {
  type FoundSession,
  findSession,
  latestSessionId,
  listSessions,
  type SessionPlace,
  type SessionSearch,
} from "./catalog/list-sessions.ts";
export type { SessionSummary } from "./catalog/summarize-session.ts";
export { checkHome, type HomeCheck } from "./home-directory.ts";
export { openInbox } from "./inbox/inbox.ts";
export { type ListedRequest, listRequests, type RequestSearch } from "./inbox/list-requests.ts";
export type { Trouble } from "./journal/disk-retry.ts";
export { createMemorySession } from "./journal/memory-session.ts";
export { createSession, openSession, type Session, type SessionOptions } from "./journal/session.ts";
export type { Problem } from "./reading/parse-transcript.ts";
export { type ReadSession, type ReadTranscript, readSession, readTranscript } from "./reading/read-session.ts";
