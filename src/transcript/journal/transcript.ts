import { appendFileSync, existsSync, rmdirSync } from "node:fs";
import { type FileLock, openAppendFile, UserError } from "../../lib/index.ts";
import type { Clock, OutputFile, Transcript } from "../../ports/index.ts";
import { type AgentId, type Line, MAIN_AGENT, type SessionId } from "../../protocol/index.ts";
import { findSession } from "../catalog/list-sessions.ts";
import { createFeed } from "../feed/feed.ts";
import { lastNumber } from "../feed/session-lines.ts";
import { makeDirectories } from "../home-directory.ts";
import type { Problem } from "../reading/parse-transcript.ts";
import { lockSession } from "../session-lock.ts";
import { agentPath, hasSession, listAgents, projectName, type SessionPaths, sessionPaths } from "../session-paths.ts";
import {
  type AgentLog,
  appendLines,
  keepCheckpoint,
  loadAgentLog,
  newAgentLog,
  readLines,
  type Sequence,
} from "./agent-log.ts";
import { asUserError, createDiskRetry, type Trouble } from "./disk-retry.ts";
import { createGroupCommit } from "./group-commit.ts";
import { createHeads } from "./heads.ts";
import { createOpenFiles, type OpenAppendFile } from "./open-files.ts";
import { createResultStore } from "./result-store.ts";
import { openWriteAheadLog, recover } from "./write-ahead-log.ts";

export type { Transcript } from "../../ports/index.ts";

/** A transcript in files. */
export interface FileTranscript extends Transcript {
  readonly problems: readonly Problem[];
}

export interface TranscriptOptions {
  readonly home: string;
  readonly cwd: string;
  readonly sessionId: SessionId;
  readonly clock: Clock;
  /** Called once per problem that may resolve itself, such as a full disk. */
  readonly onTrouble?: (trouble: Trouble) => void;
  /** Ends the wait for disk space. From then on, writes to a full disk reject. */
  readonly stopWaiting?: AbortSignal | undefined;
  /** Opens files for appending; for tests. */
  readonly openFile?: OpenAppendFile;
  /** First delay before a retry; for tests. */
  readonly firstWaitMs?: number;
  /** Size at which the write-ahead log is emptied; for tests. */
  readonly largestLog?: number;
  /** Minimum number of new lines for a new checkpoint; for tests. */
  readonly worthKeeping?: number;
}

export async function createTranscript(options: TranscriptOptions): Promise<FileTranscript> {
  const paths = pathsOf(options);
  try {
    const changedDirectories = makeDirectories(paths.directory);
    if (existsSync(paths.transcript)) throw alreadyThere(options.sessionId);
    const lock = lockSession(paths.lock, options.sessionId);
    const { session, logs } = start(options, { paths, lock, changedDirectories });
    logs.set(MAIN_AGENT, newAgentLog(MAIN_AGENT, paths.transcript));
    return session;
  } catch (error) {
    throw asUserError(error);
  }
}

export async function openTranscript(options: TranscriptOptions): Promise<FileTranscript> {
  const paths = pathsOf(options);
  if (!hasSession(paths)) throw notThere(options);
  let lock: FileLock | undefined;
  try {
    const changedDirectories = makeDirectories(paths.directory);
    lock = lockSession(paths.lock, options.sessionId);
    // Another process may have deleted the session before this one got the lock.
    if (!hasSession(paths)) throw notThere(options);
    const { session, load } = start(options, { paths, lock, changedDirectories });
    await load();
    return session;
  } catch (error) {
    lock?.release();
    removeIfUnused(paths);
    throw asUserError(error);
  }
}

/** How many line numbers to skip after a crash: more than the number of lines that can be unsynced at any time. */
const SKIPPED_AFTER_CRASH = 1_000_000;

interface LockedSession {
  readonly paths: SessionPaths;
  readonly lock: FileLock;
  readonly changedDirectories: readonly string[];
}

function start(options: TranscriptOptions, { paths, lock, changedDirectories }: LockedSession) {
  const { sessionId, clock, openFile = openAppendFile, worthKeeping = 200 } = options;
  const logs = new Map<AgentId, AgentLog>();
  const problems: Problem[] = [];
  const retry = createDiskRetry(options);
  const files = createOpenFiles(openFile);
  const wal = openWriteAheadLog(paths.wal, openFile);
  const commit = createGroupCommit({ ...options, wal, files, retry, logs: () => logs.values() });
  for (const directory of changedDirectories) commit.alsoSync(directory);
  const heads = createHeads({ directory: paths.heads, retry, alsoSync: commit.alsoSync });
  const results = createResultStore({ directory: paths.results, retry, alsoSync: commit.alsoSync });
  const feed = createFeed({ agents, read });
  const sequence: Sequence = { last: 0, written: feed.publish };
  let closing: Promise<void> | undefined;

  async function agents(): Promise<readonly AgentId[]> {
    return listAgents(paths);
  }

  async function read(agentId: AgentId): Promise<readonly Line[]> {
    const log = logOf(agentId);
    const lines = log.loaded ?? readLines(log.path);
    log.loaded = undefined;
    return lines;
  }

  function logOf(agentId: AgentId): AgentLog {
    const known = logs.get(agentId);
    if (known !== undefined) return known;
    const { log, problems: found } = loadOrExplain(agentId, paths);
    problems.push(...found);
    logs.set(agentId, log);
    return log;
  }

  async function load(): Promise<void> {
    const recovered = await recover(paths, { files, retry });
    problems.push(...recovered.problems);
    for (const log of recovered.logs) logs.set(log.agentId, log);
    logOf(MAIN_AGENT);
    // After a crash, clients may know lines that a power cut removed. The numbers of these lines must not be used
    // again.
    sequence.last = lastNumber(paths) + (lock.tookOver ? SKIPPED_AFTER_CRASH : 0);
  }

  async function finish(): Promise<void> {
    retry.stop();
    try {
      await Promise.all([...logs.values()].map((log) => log.tail));
      await commit.finish();
    } catch (error) {
      throw asUserError(error);
    } finally {
      await files.closeAll();
      await wal.close().catch(() => {});
      lock.release();
      removeIfUnused(paths);
      feed.close();
    }
  }

  const session: FileTranscript = {
    sessionId,
    path: paths.transcript,
    inboxPath: paths.inbox,
    leftOpen: lock.tookOver,
    problems,
    results,
    feed,
    append(agentId, events) {
      if (closing !== undefined)
        return Promise.reject(new Error(`The session ${sessionId} is closed; nothing can be appended.`));
      try {
        return appendLines(logOf(agentId), events, { files, retry, clock, sequence });
      } catch (error) {
        return Promise.reject(error);
      }
    },
    async sync(agentId) {
      if (closing !== undefined) return closing;
      const log = logOf(agentId);
      await log.tail;
      await commit.cover(log);
    },
    syncSoon(agentId) {
      if (closing === undefined) commit.coverSoon(logOf(agentId));
    },
    read,
    checkpoints: {
      keep(agentId, make) {
        const log = logOf(agentId);
        // A checkpoint of a long transcript takes longer to write, so it requires more new lines.
        const isWorthIt = log.count - log.keptLines >= Math.max(worthKeeping, log.count / 10);
        if (agentId === MAIN_AGENT && isWorthIt) keepCheckpoint(log, paths.checkpoint, make);
      },
      take(agentId) {
        const log = logOf(agentId);
        const { kept } = log;
        log.kept = undefined;
        return kept;
      },
    },
    agents,
    output: (agentId) => outputFile(paths, agentId),
    saveHead: heads.save,
    loadHead: heads.load,
    close() {
      closing ??= finish();
      return closing;
    },
  };
  return { session, logs, load };
}

function loadOrExplain(agentId: AgentId, paths: SessionPaths): ReturnType<typeof loadAgentLog> {
  try {
    return loadAgentLog(agentId, agentPath(paths, agentId), agentId === MAIN_AGENT ? paths.checkpoint : undefined);
  } catch (error) {
    throw asUserError(error);
  }
}

function pathsOf({ home, cwd, sessionId }: TranscriptOptions): SessionPaths {
  return sessionPaths({ home, project: projectName(cwd), sessionId });
}

/** Removes the directory of a session that has no lines. */
function removeIfUnused(paths: SessionPaths): void {
  if (existsSync(paths.transcript)) return;
  try {
    rmdirSync(paths.directory);
  } catch {
    // The directory is not empty, so it stays.
  }
}

function alreadyThere(sessionId: SessionId): UserError {
  return new UserError(`The session ${sessionId} already exists`, {
    code: "session_exists",
    fix: `Resume it with the \`resume: ${sessionId}\` option.`,
  });
}

function notThere({ home, sessionId }: TranscriptOptions): UserError {
  const found = findSession({ home, id: sessionId });
  const elsewhere = found.kind === "one" && found.session.id === sessionId ? found.session.cwd : undefined;
  if (elsewhere !== undefined)
    return new UserError(`The session ${sessionId} is in another directory, ${elsewhere}`, {
      code: "no_session",
      fix: "Resume it there: change to that directory, or pass it as `cwd`.",
    });
  return new UserError(`There is no session ${sessionId} in this project`, {
    code: "no_session",
    fix: "Use the full id of a session in this directory. `retinue sessions list` and sessions.list() list them.",
  });
}

/**
 * Returns the file for readable output next to an agent's transcript. Write errors are ignored, because nothing depends
 * on the file.
 */
function outputFile(paths: SessionPaths, agentId: string): OutputFile {
  const path = agentPath(paths, agentId).replace(/\.jsonl$/, ".output");
  return {
    path,
    append: (text) => {
      if (text === "") return;
      try {
        appendFileSync(path, text, { mode: 0o600 });
      } catch {
        // The transcript contains the same information.
      }
    },
  };
}
