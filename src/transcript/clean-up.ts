import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describeError } from "../lib/index.ts";
import { deleteSession } from "./delete-session.ts";
import { placesOf, type SessionPlace } from "./list-sessions.ts";
import { type SessionPaths, sessionPaths } from "./session-paths.ts";
import { lastRunEnded, summarizeSession } from "./summarize-session.ts";

export interface CleanUp {
  readonly removed: readonly string[];
  /** Old sessions that stay, and why. */
  readonly kept: readonly { readonly id: string; readonly reason: string }[];
}

/** Deletes sessions not touched for so many days (0 = never), except where something would be lost with them. */
export function cleanUp({ home, days, now }: { home: string; days: number; now: number }): CleanUp {
  const removed: string[] = [];
  const kept: { id: string; reason: string }[] = [];
  if (!(days > 0)) return { removed, kept };
  const oldest = now - days * 24 * 60 * 60 * 1000;
  for (const place of placesOf({ home })) {
    const paths = sessionPaths(place);
    if (touchedAt(paths) >= oldest) continue;
    const reason = reasonToKeep(place, paths);
    if (reason !== undefined) {
      kept.push({ id: place.sessionId, reason });
      continue;
    }
    try {
      deleteSession(place);
      removed.push(place.sessionId);
    } catch (error) {
      kept.push({ id: place.sessionId, reason: describeError(error) });
    }
  }
  return { removed, kept };
}

function reasonToKeep(place: SessionPlace, paths: SessionPaths): string | undefined {
  const summary = summarizeSession(place);
  if (summary.inUse) return "It is in use.";
  if (summary.damaged !== undefined) return `It is damaged: ${summary.damaged}`;
  if (summary.lastOutcome === undefined) return "Its last run did not end; it can be resumed.";
  for (const agent of subagentsOf(paths)) {
    if (!lastRunEnded(join(paths.subagents, `agent-${agent}.jsonl`))) return `Its agent ${agent} did not end.`;
    if (existsSync(join(place.home, "worktrees", place.project, agent)))
      return `The worktree of its agent ${agent} is kept.`;
  }
  return undefined;
}

function subagentsOf(paths: SessionPaths): string[] {
  if (!existsSync(paths.subagents)) return [];
  return readdirSync(paths.subagents).flatMap((name) => /^agent-(.+)\.jsonl$/.exec(name)?.[1] ?? []);
}

function touchedAt(paths: SessionPaths): number {
  const times = [paths.transcript, paths.wal, paths.subagents].map(
    (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0,
  );
  return Math.max(...times);
}
