import {
  answerApproval,
  followSession,
  listApprovals,
  listSessions,
  readTranscript,
  readWaitingPrompts,
  type SessionSummary,
  steerSession,
  userName,
} from "../../app/index.ts";
import { MAIN_AGENT } from "../../protocol/index.ts";
import { sessionById, sessionError } from "../find-session.ts";
import { readAgentTranscript, readAgentTranscripts, readUnfinishedAgents } from "../progress/agent-transcripts.ts";
import type { HostSession, SessionHost } from "./session-host.ts";
import { requestOfWorker, unlistedText } from "./worker-sessions.ts";

/** Reads and steers the sessions in a state directory. */
export function createFileHost(home: string): SessionHost {
  return {
    option: "",
    list: async ({ cwd } = {}) => listSessions(cwd === undefined ? { home } : { home, cwd }).map(hostSession),
    unlisted: (what) => unlistedText(home, what),
    find: async (id) => hostSession(sessionById({ home, id })),
    agents: async (session) => readAgentTranscripts(pathOf(session)),
    transcript: async (session, agentId) => {
      if (agentId !== MAIN_AGENT) return readAgentTranscript(pathOf(session), agentId);
      const { lines, problems } = readTranscript(pathOf(session));
      return { agentId, lines, problems: problems.map(({ message }) => message) };
    },
    transcripts: async (session, which) =>
      which === "all" ? readAgentTranscripts(pathOf(session)) : readUnfinishedAgents(pathOf(session)),
    follow: (session, { signal, onCaughtUp }) => followSession({ path: pathOf(session), signal, onCaughtUp }),
    waitingPrompts: async (session) => readWaitingPrompts(pathOf(session)).map(({ promptId }) => promptId),
    steer: ({ id }, command, signal) => steerSession({ home, sessionId: id, command, signal }),
    approvals: ({ cwd, sessionId }) => {
      if (sessionId !== undefined) return listApprovals({ home, sessionId });
      return listApprovals(cwd === undefined ? { home } : { home, cwd });
    },
    answer: async (answering) => {
      const elsewhere = requestOfWorker(home, answering.request);
      if (elsewhere !== undefined) throw sessionError(`"${answering.request}" can't be answered here`, elsewhere);
      return answerApproval({ ...answering, home, by: userName() });
    },
  };
}

function hostSession(session: SessionSummary): HostSession {
  const { inUse, lastOutcome, firstPrompt, path } = session;
  return {
    ...session,
    isIdle: inUse && (lastOutcome !== undefined || firstPrompt === undefined),
    waitingPrompts: readWaitingPrompts(path).length,
  };
}

function pathOf({ id, path }: HostSession): string {
  if (path === undefined) throw new Error(`session ${id} has no file`);
  return path;
}
