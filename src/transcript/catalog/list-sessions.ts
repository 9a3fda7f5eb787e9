import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { errorCode, matchPrefix } from "../../lib/index.ts";
import type { SessionId } from "../../protocol/index.ts";
import { hasSession, isSessionId, projectName, projectsDirectory, sessionPaths } from "../session-paths.ts";
import { type SessionSummary, summarizeSession } from "./summarize-session.ts";

/** Where to look: one project, or all of them. */
export interface SessionSearch {
  readonly home: string;
  readonly cwd?: string;
}

export interface SessionPlace {
  readonly home: string;
  readonly project: string;
  readonly sessionId: SessionId;
}

/** Newest first. Damaged sessions are among them, marked. */
export function listSessions(search: SessionSearch): SessionSummary[] {
  return placesOf(search)
    .map(summarizeSession)
    .sort((left, right) => right.updatedAt - left.updatedAt);
}

export type FoundSession =
  | { readonly kind: "one"; readonly session: SessionSummary }
  | { readonly kind: "none" }
  | { readonly kind: "many"; readonly ids: readonly SessionId[] };

/** By the beginning of its id, if that is enough to tell it from all others. */
export function findSession({ prefix, ...search }: SessionSearch & { readonly prefix: string }): FoundSession {
  const places = placesOf(search);
  const match = matchPrefix(
    places.map((place) => place.sessionId),
    prefix,
  );
  if (match.kind !== "one") return match;
  const found = places.filter((place) => place.sessionId === match.id);
  const [place] = found;
  if (place === undefined) return { kind: "none" };
  if (found.length > 1) return { kind: "many", ids: found.map((each) => `${each.project}/${each.sessionId}`) };
  return { kind: "one", session: summarizeSession(place) };
}

/** The one that was written last and begins as a session does. Reads next to nothing: a start waits for it. */
export function latestSessionId(search: SessionSearch): SessionId | undefined {
  const byTime = placesOf(search)
    .map((place) => ({ place, time: modifiedAt(sessionPaths(place).transcript) }))
    .sort((left, right) => right.time - left.time);
  return byTime.find(({ place }) => beginsAsSession(sessionPaths(place).transcript))?.place.sessionId;
}

function beginsAsSession(path: string): boolean {
  try {
    const file = openSync(path, "r");
    try {
      const start = Buffer.alloc(256);
      return start.toString("latin1", 0, readSync(file, start)).includes('"type":"session.created"');
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
}

export function placesOf({ home, cwd }: SessionSearch): SessionPlace[] {
  const projects = cwd === undefined ? projectsOf(home) : [projectName(cwd)];
  return projects.flatMap((project) => {
    const ids = new Set<SessionId>();
    for (const name of names(join(projectsDirectory(home), project))) {
      const id = name.replace(/\.jsonl$/, "");
      if (isSessionId(id)) ids.add(id);
    }
    return [...ids]
      .map((sessionId) => ({ home, project, sessionId }))
      .filter((place) => hasSession(sessionPaths(place)));
  });
}

export function projectsOf(home: string): readonly string[] {
  return names(projectsDirectory(home));
}

export function names(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return [];
    throw error;
  }
}

function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
