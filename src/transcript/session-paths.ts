import { createHash } from "node:crypto";
import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, join, resolve, sep } from "node:path";
import { errorCode, UserError } from "../lib/index.ts";
import { type AgentId, MAIN_AGENT, type SessionId } from "../protocol/index.ts";

export interface SessionPaths {
  readonly project: string;
  readonly projectDirectory: string;
  /** Path of the main agent's transcript. */
  readonly transcript: string;
  readonly directory: string;
  readonly subagents: string;
  readonly heads: string;
  readonly results: string;
  /** Approval requests and answers. */
  readonly inbox: string;
  /** Checkpoint of the main agent. */
  readonly checkpoint: string;
  readonly wal: string;
  readonly lock: string;
  /**
   * Path to which the transcript is moved first when the session is deleted. Once it is there, the session no longer
   * exists.
   */
  readonly deleted: string;
}

export function sessionPaths(place: { home: string; project: string; sessionId: SessionId }): SessionPaths {
  if (!isSessionId(place.sessionId)) throw invalidId(place.sessionId);
  return sessionPathsIn(join(projectsDirectory(place.home), place.project), place.sessionId);
}

function invalidId(sessionId: string): UserError {
  const shown = sessionId.length > 60 ? `${sessionId.slice(0, 60)}…` : sessionId;
  const fix = "Use the full id of a session, which consists of letters, digits, - and _.";
  return new UserError(`"${shown}" is not a valid session id`, { code: "no_session", fix, exitCode: 2 });
}

export function sessionPathsIn(projectDirectory: string, sessionId: SessionId): SessionPaths {
  const directory = join(projectDirectory, sessionId);
  // Not `join`, which would normalize the same directory again and again.
  const inside = (name: string): string => `${directory}${sep}${name}`;
  return {
    project: basename(projectDirectory),
    projectDirectory,
    transcript: `${directory}.jsonl`,
    directory,
    subagents: inside("subagents"),
    heads: inside("heads"),
    results: inside("results"),
    inbox: inside("inbox.jsonl"),
    checkpoint: inside("checkpoint"),
    wal: inside("wal.jsonl"),
    lock: inside("lock"),
    deleted: inside("deleted.jsonl"),
  };
}

export function projectsDirectory(home: string): string {
  return join(home, "projects");
}

/** Returns a readable project name that is unique even among directories with the same base name. */
export function projectName(cwd: string): string {
  const path = realPath(cwd);
  const name = basename(path)
    .replace(/[^a-zA-Z0-9._-]+/g, "-")
    .replace(/^\.+/, "")
    .slice(0, 48);
  const hash = createHash("sha256").update(path).digest("hex").slice(0, 8);
  return `${name || "root"}-${hash}`;
}

export function agentPath(paths: SessionPaths, agentId: AgentId): string {
  if (agentId === MAIN_AGENT) return paths.transcript;
  if (!isAgentId(agentId)) throw new Error(`"${agentId}" is not a valid agent id.`);
  return `${paths.subagents}${sep}agent-${agentId}.jsonl`;
}

/** Lists the subagents that have a transcript, oldest first. */
export function listAgents(paths: SessionPaths): readonly AgentId[] {
  const born = (agentId: AgentId): number => statSync(agentPath(paths, agentId)).birthtimeMs;
  const times = new Map(agentIds(paths).map((agentId) => [agentId, born(agentId)]));
  return [...times.keys()].sort((left, right) => (times.get(left) ?? 0) - (times.get(right) ?? 0));
}

/** Lists the subagents that have a transcript, in no particular order. */
export function agentIds({ subagents }: SessionPaths): readonly AgentId[] {
  return listNames(subagents)
    .flatMap((name) => /^agent-(.+)\.jsonl$/.exec(name)?.[1] ?? [])
    .filter(isAgentId);
}

export function listNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return [];
    throw error;
  }
}

export function isAgentId(text: string): boolean {
  return /^[a-zA-Z0-9_-]{1,64}$/.test(text);
}

export function isSessionId(text: string): boolean {
  return /^[a-zA-Z0-9_-]{1,64}$/.test(text);
}

/**
 * Returns whether a session exists. If a power cut removed only the main transcript, the session still exists, because
 * the rest can be read.
 */
export function hasSession(paths: SessionPaths): boolean {
  if (existsSync(paths.transcript)) return true;
  return (existsSync(paths.wal) || existsSync(paths.subagents)) && !existsSync(paths.deleted);
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return resolve(path);
  }
}
