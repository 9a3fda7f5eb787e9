import { closeSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { type FileCache, matchId } from "../../lib/index.ts";
import type { SessionId } from "../../protocol/index.ts";
import { hasSession, isSessionId, listNames, projectName, projectsDirectory, sessionPaths } from "../session-paths.ts";
import { type SessionSummary, summarizeSession } from "./summarize-session.ts";

/** Restricts a search to the project of `cwd`. If `cwd` is absent, all projects are searched. */
export interface SessionSearch {
  readonly home: string;
  readonly cwd?: string | undefined;
  /** Caches file contents for callers that search repeatedly. */
  readonly cache?: FileCache | undefined;
}

export interface SessionPlace {
  readonly home: string;
  readonly project: string;
  readonly sessionId: SessionId;
}

/** Lists sessions, newest first. Damaged sessions are included and marked. */
export function listSessions(search: SessionSearch): SessionSummary[] {
  return sessionPlaces(search)
    .map((place) => summarizeSession(place, search.cache))
    .sort((left, right) => right.updatedAt - left.updatedAt);
}

export type FoundSession =
  | { readonly kind: "one"; readonly session: SessionSummary }
  | { readonly kind: "none" }
  | { readonly kind: "many"; readonly ids: readonly SessionId[] };

/** Finds a session by its id or a part of its id (see `matchId`). */
export function findSession({ id, ...search }: SessionSearch & { readonly id: string }): FoundSession {
  const places = sessionPlaces(search);
  const match = matchId(
    places.map((place) => place.sessionId),
    id,
  );
  if (match.kind !== "one") return match;
  const found = places.filter((place) => place.sessionId === match.id);
  const [place] = found;
  if (place === undefined) return { kind: "none" };
  if (found.length > 1) return { kind: "many", ids: found.map((each) => `${each.project}/${each.sessionId}`) };
  return { kind: "one", session: summarizeSession(place) };
}

/**
 * Returns the most recently written session that has had a run. Reads only the start of each file, because a run has to
 * wait for the result.
 */
export function latestSessionId(search: SessionSearch): SessionId | undefined {
  const byTime = sessionPlaces(search)
    .map((place) => ({ place, time: modifiedAt(sessionPaths(place).transcript) }))
    .sort((left, right) => right.time - left.time);
  return byTime.find(({ place }) => beginsAsSession(sessionPaths(place).transcript))?.place.sessionId;
}

/** Maximum number of bytes to read for the first line of a session, which contains the path of its directory. */
const LONGEST_FIRST_LINE = 8 * 1024;

function beginsAsSession(path: string): boolean {
  try {
    const file = openSync(path, "r");
    try {
      const start = Buffer.alloc(LONGEST_FIRST_LINE);
      const [first = "", second = ""] = start.toString("latin1", 0, readSync(file, start)).split("\n");
      return first.includes('"type":"session.created"') && second !== "";
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
}

export function sessionPlaces({ home, cwd }: SessionSearch): SessionPlace[] {
  const projects = cwd === undefined ? listProjects(home) : [projectName(cwd)];
  return projects.flatMap((project) => {
    const ids = new Set<SessionId>();
    for (const name of listNames(join(projectsDirectory(home), project))) {
      const id = name.replace(/\.jsonl$/, "");
      if (isSessionId(id)) ids.add(id);
    }
    return [...ids]
      .map((sessionId) => ({ home, project, sessionId }))
      .filter((place) => hasSession(sessionPaths(place)));
  });
}

export function listProjects(home: string): readonly string[] {
  return listNames(projectsDirectory(home));
}

function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
