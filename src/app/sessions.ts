import { matchAgentId } from "../lib/index.ts";
import { type AgentId, type Line, MAIN_AGENT } from "../protocol/index.ts";
import {
  deleteSession,
  findSession,
  listSessions,
  type ReadSession,
  readSession,
  type SessionSummary,
} from "../transcript/index.ts";
import { aString, checkOptions, optional, optionError } from "./check-options.ts";
import { stateDirectory } from "./directories.ts";

/** Location of the sessions. */
export interface SessionsOptions {
  /** State directory; defaults to `RETINUE_HOME` or `~/.retinue`. */
  readonly home?: string | undefined;
}

/**
 * The sessions in a state directory.
 *
 * ```ts
 * for (const { id, firstPrompt } of await sessions.list({ cwd: process.cwd() })) console.log(id, firstPrompt);
 * ```
 */
export const sessions = {
  /** Lists sessions, newest first: all of them, or those of one workspace. */
  list: async (options: ListOptions = {}): Promise<readonly SessionSummary[]> => {
    checkOptions("sessions.list", options, { home: optional(aString), cwd: optional(aString) });
    const { home, cwd } = options;
    return listSessions({ home: homeOf(home), cwd });
  },

  /**
   * Reads the transcript of one of a session's agents; defaults to the main agent. Part of the session's id and of the
   * agent's id is enough. Throws a `UserError` if there is no such session or agent, or if several match.
   */
  read: async (id: string, options: ReadOptions = {}): Promise<readonly Line[]> => {
    checkOptions("sessions.read", options, { home: optional(aString), agentId: optional(aString) });
    const { home, agentId = MAIN_AGENT } = options;
    const session = readSession(oneSession(id, home).path);
    return session.read(agentId === MAIN_AGENT ? agentId : await oneAgent(session, agentId));
  },

  /** Deletes a session and everything that belongs to it. Throws a `UserError` if it is open. */
  delete: async (id: string, options: SessionsOptions = {}): Promise<void> => {
    checkOptions("sessions.delete", options, { home: optional(aString) });
    const { home } = options;
    const { project, id: sessionId } = oneSession(id, home);
    deleteSession({ home: homeOf(home), project, sessionId });
  },
} as const;

interface ListOptions extends SessionsOptions {
  /** Lists only the sessions of this workspace. */
  readonly cwd?: string | undefined;
}

interface ReadOptions extends SessionsOptions {
  /** Id of the agent; defaults to the main agent. */
  readonly agentId?: string | undefined;
}

function homeOf(home: string | undefined): string {
  return home ?? stateDirectory(process.env);
}

async function oneAgent(session: ReadSession, reference: string): Promise<AgentId> {
  const match = matchAgentId(await session.agents(), reference);
  if (match.kind === "one") return match.id;
  if (match.kind === "many")
    throw optionError(`"${reference}" matches several agents: ${match.ids.join(", ")}`, "Use a longer part of the id.");
  throw optionError(
    `There is no agent "${reference}" in session ${session.sessionId}`,
    "An agent's id is in the `agent.spawned` line of the agent that started it.",
  );
}

function oneSession(id: string, home: string | undefined): SessionSummary {
  if (!aString.accepts(id)) throw optionError("The session's id is missing", "sessions.list() returns all sessions.");
  const found = findSession({ home: homeOf(home), id });
  if (found.kind === "one") return found.session;
  if (found.kind === "many")
    throw optionError(`"${id}" matches several sessions: ${found.ids.join(", ")}`, "Use a longer part of the id.");
  throw optionError(`There is no session "${id}" in ${homeOf(home)}`, "sessions.list() returns all sessions.");
}
