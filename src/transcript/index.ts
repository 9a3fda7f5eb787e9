// Owns: transcripts on disk: append, write-ahead log, repair, reading, locks, heads, results, inbox, sessions, following,
// clean-up.
// Does not own: what events mean (loop), which session to open (cli, app), who approves calls (runs).
// Called by: app, reports.
export { type CleanUp, cleanUpDaily } from "./catalog/clean-up.ts";
export { deleteSession } from "./catalog/delete-session.ts";
export { type FoundSession, findSession, latestSessionId, listSessions } from "./catalog/list-sessions.ts";
export { hasUnfinishedRun, lastRunEnd, type SessionSummary } from "./catalog/summarize-session.ts";
export { type FollowOptions, followSession } from "./feed/follow-session.ts";
export { lastEventNumber, sessionStamp } from "./feed/session-lines.ts";
export { checkHome, type HomeCheck } from "./home-directory.ts";
export {
  findInbox,
  hashCommand,
  inboxOf,
  type ListedRequest,
  listRequests,
  openInbox,
  type RequestSearch,
} from "./inbox/inbox.ts";
export type { Trouble } from "./journal/disk-retry.ts";
export { createMemoryTranscript } from "./journal/memory-transcript.ts";
export { createTranscript, openTranscript, type Transcript } from "./journal/transcript.ts";
export { type ReadSession, type ReadTranscript, readSession, readTranscript } from "./reading/read-session.ts";
export { projectName, sessionPaths } from "./session-paths.ts";
