import {
  findAgentId,
  findSession,
  type ListedAgent,
  listSessions,
  type SessionSummary,
  unmatchedAgent,
} from "../app/index.ts";
import { matchId, SHORTEST_END, UserError } from "../lib/index.ts";
import type { AgentId, SessionId } from "../protocol/index.ts";
import { sessionOfWorker } from "./host/worker-sessions.ts";
import { usageError } from "./read-options.ts";
import { realDirectory } from "./real-directory.ts";

/** Finds a session by its id, or by the start or end of the id. Throws a `UserError` that lists the candidates unless exactly one matches. */
export function sessionById({ home, id }: { home: string; id: string }): SessionSummary {
  const found = findSession({ home, id });
  if (found.kind === "one") return found.session;
  if (found.kind === "many") throw severalSessions(id, found.ids);
  const elsewhere = sessionOfWorker(home, id);
  if (elsewhere !== undefined) throw sessionError(`No session on this machine has the id "${id}"`, elsewhere);
  throw noSession(id, listSessions({ home })[0]?.id);
}

/**
 * Finds a session as `findSession` does, but in a list that is sorted newest first. `option` selects the list's host in
 * suggested commands.
 */
export function sessionIn<Session extends { readonly id: SessionId }>(
  all: readonly Session[],
  id: string,
  option: string,
): Session {
  const ids = all.map((session) => session.id);
  const match = matchId(ids, id);
  if (match.kind === "many") throw severalSessions(id, match.ids);
  const found = match.kind === "one" ? all.find((session) => session.id === match.id) : undefined;
  if (found !== undefined) return found;
  throw noSession(id, ids[0], option);
}

function severalSessions(id: string, ids: readonly SessionId[]): UserError {
  const more = ids.length > 8 ? ` and ${ids.length - 8} more` : "";
  const shown = ids.slice(0, 8).join(", ");
  return sessionError(`"${id}" matches ${ids.length} sessions: ${shown}${more}`, "Use a longer part of the id.");
}

function noSession(id: string, newest: SessionId | undefined, option = ""): UserError {
  const fix = newest ? `The latest is ${newest} (retinue sessions list --all${option}).` : "There are no sessions yet.";
  return sessionError(`No session id ${notMatched(id)}`, fix);
}

/**
 * Finds a session's agent as `findAgentId` does. Throws a `UserError` that lists the candidates unless exactly one
 * matches. `kind` describes the agents that are searched.
 */
export function agentIdOf(reference: string, agents: readonly ListedAgent[], kind?: string): AgentId {
  const agentId = findAgentId(reference, agents);
  if (agentId !== undefined) return agentId;
  const { message, fix } = unmatchedAgent(reference, agents, kind);
  throw sessionError(message, fix);
}

function notMatched(id: string): string {
  if (id.length >= SHORTEST_END) return `starts or ends with "${id}"`;
  return `starts with "${id}"; to use the end of an id, pass at least ${SHORTEST_END} characters of it`;
}

/** Parses `SESSION[/AGENT]`; the agent can also be given with the `--agent` option. */
export function parseSessionAgent(
  argument: string,
  option: string | undefined,
): { readonly id: string; readonly agent: string | undefined } {
  const at = argument.indexOf("/");
  const suffix = at < 0 ? undefined : argument.slice(at + 1);
  if (suffix === "")
    throw usageError(`"${argument}" does not name an agent`, "Use SESSION/AGENT, or leave the slash out.");
  if (suffix !== undefined && option !== undefined) {
    throw usageError(`"${argument}" and --agent both name an agent`, "Use one of them.");
  }
  const id = at < 0 ? argument : argument.slice(0, at);
  if (id === "") throw usageError(`"${argument}" does not name a session`, '"retinue sessions list" shows the ids.');
  return { id, agent: suffix ?? option };
}

/**
 * Returns the options that a command needs to resume a session from the current directory: those of its host, and
 * `--cwd` if the session belongs to another directory on this machine.
 */
export function resumeOptions(cwd: string | undefined, option: string): string {
  if (option !== "" || cwd === undefined || cwd === realDirectory(".")) return option;
  return ` --cwd '${cwd.replaceAll("'", "'\\''")}'`;
}

export function sessionError(message: string, fix: string): UserError {
  return new UserError(message, { code: "session", fix, exitCode: 2 });
}
