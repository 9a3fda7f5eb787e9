import { appendFileSync, existsSync, mkdirSync, rmdirSync } from "node:fs";
import { type FileLock, openAppendFile, UserError } from "../../lib/index.ts";
import type { Clock, Journal, OutputFile, ResultStore } from "../../ports/index.ts";
import { type AgentId, MAIN_AGENT, type SessionId } from "../../protocol/index.ts";
import { makeDirectories } from "../home-directory.ts";
import type { Problem } from "../reading/parse-transcript.ts";
import { lockSession } from "../session-lock.ts";
import { agentPath, hasSession, listAgents, projectName, type SessionPaths, sessionPaths } from "../session-paths.ts";
import { type AgentLog, appendLines, keepCheckpoint, loadAgentLog, newAgentLog, readLines } from "./agent-log.ts";
import { asUserError, createDiskRetry, type Trouble } from "./disk-retry.ts";
import { createGroupCommit } from "./group-commit.ts";
import { createHeads } from "./heads.ts";
import { createOpenFiles, type OpenAppendFile } from "./open-files.ts";
import { createResultStore } from "./result-store.ts";
import { openWriteAheadLog, recover } from "./write-ahead-log.ts";

export interface Session extends Journal {
  readonly results: ResultStore;
  /** The main agent's transcript; undefined for a session in memory. */
  readonly path: string | undefined;
  /** Its approvals; undefined for a session in memory. */
  readonly inboxPath: string | undefined;
  /** What reading has found damaged, skipped or restored so far. */
  readonly problems: readonly Problem[];
  /** Who had it before did not close it: processes it started may still run. */
  readonly leftOpen: boolean;
  /** A directory for the session's own use, made when first asked for. */
  scratchDirectory(): string;
}

export interface SessionOptions {
  readonly home: string;
  readonly cwd: string;
  readonly sessionId: SessionId;
  readonly clock: Clock;
  /** A trouble that waiting can cure, told once until it has passed. */
  readonly onTrouble?: (trouble: Trouble) => void;
  /** How files are opened for appending; for tests. */
  readonly openFile?: OpenAppendFile;
  /** The first pause before trying again; for tests. */
  readonly firstWaitMs?: number;
  /** Size at which the write-ahead log is emptied; for tests. */
  readonly largestLog?: number;
  /** How many lines are worth a new checkpoint; for tests. */
  readonly worthKeeping?: number;
}

export async function createSession(options: SessionOptions): Promise<Session> {
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

export async function openSession(options: SessionOptions): Promise<Session> {
  const paths = pathsOf(options);
  if (!hasSession(paths)) throw notThere(options.sessionId);
  let lock: FileLock | undefined;
  try {
    const changedDirectories = makeDirectories(paths.directory);
    lock = lockSession(paths.lock, options.sessionId);
    // Somebody may have deleted it before the lock was ours.
    if (!hasSession(paths)) throw notThere(options.sessionId);
    const { session, load } = start(options, { paths, lock, changedDirectories });
    await load();
    return session;
  } catch (error) {
    lock?.release();
    removeIfUnused(paths);
    throw asUserError(error);
  }
}

interface Place {
  readonly paths: SessionPaths;
  readonly lock: FileLock;
  readonly changedDirectories: readonly string[];
}

function start(options: SessionOptions, { paths, lock, changedDirectories }: Place) {
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
  let closing: Promise<void> | undefined;

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
    }
  }

  const session: Session = {
    sessionId,
    path: paths.transcript,
    inboxPath: paths.inbox,
    leftOpen: lock.tookOver,
    problems,
    results,
    append(agentId, events) {
      if (closing !== undefined)
        return Promise.reject(new Error(`The session ${sessionId} is closed; nothing can be appended.`));
      try {
        return appendLines(logOf(agentId), events, { files, retry, clock });
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
    async read(agentId) {
      const log = logOf(agentId);
      const lines = log.loaded ?? readLines(log.path);
      log.loaded = undefined;
      return lines;
    },
    checkpoints: {
      keep(agentId, make) {
        const log = logOf(agentId);
        // Of a long life it takes longer, so more must have been added.
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
    agents: async () => listAgents(paths),
    output: (agentId) => outputFile(paths, agentId),
    saveHead: heads.save,
    loadHead: heads.load,
    scratchDirectory() {
      mkdirSync(paths.scratch, { recursive: true, mode: 0o700 });
      return paths.scratch;
    },
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

function pathsOf({ home, cwd, sessionId }: SessionOptions): SessionPaths {
  return sessionPaths({ home, project: projectName(cwd), sessionId });
}

/** A session in which nobody said a word leaves nothing behind. */
function removeIfUnused(paths: SessionPaths): void {
  if (existsSync(paths.transcript)) return;
  try {
    rmdirSync(paths.directory);
  } catch {
    // There is something in it: then it stays.
  }
}

function alreadyThere(sessionId: SessionId): UserError {
  return new UserError(`The session ${sessionId} exists already`, {
    code: "session_exists",
    cure: `Continue it with --resume ${sessionId}.`,
  });
}

function notThere(sessionId: SessionId): UserError {
  return new UserError(`There is no session ${sessionId} in this project`, {
    code: "no_session",
    cure: "`retinue sessions list` shows those there are.",
  });
}

/** Readable text beside an agent's transcript. Nothing depends on it, so a disk that can't take it stops nobody. */
function outputFile(paths: SessionPaths, agentId: string): OutputFile {
  const path = agentPath(paths, agentId).replace(/\.jsonl$/, ".output");
  return {
    path,
    append: (text) => {
      if (text === "") return;
      try {
        appendFileSync(path, text, { mode: 0o600 });
      } catch {
        // The transcript has it all.
      }
    },
  };
}
