import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeError } from "../../lib/index.ts";
import type { Clock } from "../../ports/index.ts";
import { type AgentId, MAIN_AGENT, type RunId } from "../../protocol/index.ts";
import { readTranscript } from "../reading/read-session.ts";
import { agentPath, listAgents, type SessionPaths, sessionPaths } from "../session-paths.ts";
import { deleteSession, sweepDeleted } from "./delete-session.ts";
import { listProjects, type SessionPlace, sessionPlaces } from "./list-sessions.ts";
import { lastRunEnd, summarizeSession } from "./summarize-session.ts";

export interface CleanUp {
  readonly removed: readonly string[];
  /** Old sessions that were kept, with the reason. */
  readonly kept: readonly { readonly id: string; readonly reason: string }[];
  /** False if time ran out before all sessions were checked. */
  readonly finished: boolean;
}

export interface CleanUpOptions {
  readonly home: string;
  /** Number of days after which untouched sessions are deleted. 0 disables the clean-up. */
  readonly days: number;
  readonly now: number;
  /** Called before each session. If this function returns false, the clean-up ends. */
  readonly hasTime?: () => boolean;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Deletes sessions that have not been touched for `days` days, unless unfinished work would be lost. */
export function cleanUp({ home, days, now, hasTime = () => true }: CleanUpOptions): CleanUp {
  const removed: string[] = [];
  const kept: { id: string; reason: string }[] = [];
  if (!(days > 0)) return { removed, kept, finished: true };
  const oldest = now - days * DAY_MS;
  for (const project of listProjects(home)) sweepDeleted({ home, project });
  for (const place of sessionPlaces({ home })) {
    if (!hasTime()) return { removed, kept, finished: false };
    try {
      const paths = sessionPaths(place);
      if (touchedAt(paths) >= oldest) continue;
      const reason = reasonToKeep(place, paths);
      if (reason !== undefined) {
        kept.push({ id: place.sessionId, reason });
        continue;
      }
      deleteSession(place);
      removed.push(place.sessionId);
    } catch (error) {
      kept.push({ id: place.sessionId, reason: describeError(error) });
    }
  }
  return { removed, kept, finished: true };
}

export interface DailyCleanUp {
  readonly home: string;
  /** Number of days after which untouched sessions are deleted. 0 disables the clean-up. */
  readonly days: number;
  readonly clock: Clock;
}

/** Time limit for the clean-up. It must be short, because a command waits for the clean-up before it ends. */
const LIMIT_MS = 500;

/**
 * Runs `cleanUp` once a day, and only for a short time. If time runs out, the next command continues with the remaining
 * sessions. Returns undefined if the clean-up is not due. Never rejects.
 */
export async function cleanUpDaily({ home, days, clock }: DailyCleanUp): Promise<CleanUp | undefined> {
  const stamp = join(home, "cleaned-up");
  if (!(days > 0) || isToday(stamp, clock.now())) return undefined;
  try {
    // The time is written first, so that a clean-up that dies midway is not repeated by every command.
    writeFileSync(stamp, `${clock.now()}\n`, { mode: 0o600 });
    const startedAt = clock.monotonic();
    const result = cleanUp({ home, days, now: clock.now(), hasTime: () => clock.monotonic() - startedAt < LIMIT_MS });
    if (!result.finished) rmSync(stamp, { force: true });
    return result;
  } catch {
    // An error is ignored, because keeping old files for another day does no harm.
    return undefined;
  }
}

function isToday(stamp: string, now: number): boolean {
  try {
    return Math.abs(now - Number(readFileSync(stamp, "utf8"))) < DAY_MS;
  } catch {
    return false;
  }
}

function reasonToKeep(place: SessionPlace, paths: SessionPaths): string | undefined {
  const summary = summarizeSession(place);
  if (summary.inUse) return "It is in use.";
  if (summary.damaged !== undefined) return `It is damaged: ${summary.damaged}`;
  if (summary.lastOutcome === undefined && summary.model !== undefined)
    return "Its last run has not finished; it can be resumed.";
  const agents = listAgents(paths);
  for (const agent of agents) {
    if (lastRunEnd(agentPath(paths, agent)) === undefined) return `Agent ${agent} has not finished.`;
    if (existsSync(join(place.home, "worktrees", place.project, agent)))
      return `The worktree of agent ${agent} still exists.`;
  }
  const [undelivered] = agents.length === 0 ? [] : undeliveredResults(paths, agents);
  return undelivered && `The result of agent ${undelivered} has not been delivered.`;
}

function touchedAt(paths: SessionPaths): number {
  const times = [paths.transcript, paths.wal, paths.subagents].map(
    (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0,
  );
  return Math.max(...times);
}

/** Lists background agents whose results were never delivered to any agent in the session. */
function undeliveredResults(paths: SessionPaths, agents: readonly AgentId[]): readonly AgentId[] {
  const launched = new Map<RunId, AgentId>();
  const delivered = new Set<RunId>();
  for (const agent of [MAIN_AGENT, ...agents]) {
    for (const line of readTranscript(agentPath(paths, agent)).lines) {
      const { launched: launch, reported } = (line.type === "tool.ended" && line.result.facts) || {};
      if (launch) launched.set(launch.runId, launch.agentId);
      if (reported) delivered.add(reported.runId);
      if (line.type === "notices.delivered") for (const { runId } of line.notices) delivered.add(runId);
    }
  }
  return [...launched].flatMap(([runId, agentId]) => (delivered.has(runId) ? [] : [agentId]));
}
