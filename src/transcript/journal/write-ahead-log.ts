import { statSync, truncateSync } from "node:fs";
import { type AppendFile, parseJsonLines, plural } from "../../lib/index.ts";
import type { AgentId, Line, LineId } from "../../protocol/index.ts";
import type { Problem } from "../reading/parse-transcript.ts";
import { agentPath, isAgentId, type SessionPaths } from "../session-paths.ts";
import { type AgentLog, appendTexts, loadAgentLog, readIfExists } from "./agent-log.ts";
import type { DiskRetry } from "./disk-retry.ts";
import type { OpenAppendFile, OpenFiles } from "./open-files.ts";

/**
 * Copies of all lines from a session's agents in one file, so that a single sync makes all of them safe from a power
 * cut.
 */
export interface WriteAheadLog {
  readonly size: number;
  /** Appends entries. Throws the file system's error; all entries may then be appended again. */
  append(entries: string): void;
  sync(): Promise<void>;
  /** Empties the log. Call this only after every line in the log has been synced to its agent's file. */
  cut(): Promise<void>;
  close(): Promise<void>;
}

export function openWriteAheadLog(path: string, openFile: OpenAppendFile): WriteAheadLog {
  let file: AppendFile | undefined;
  // The size includes entries that an earlier process left behind, so that closing removes them.
  let size = sizeOf(path);

  async function close(): Promise<void> {
    const open = file;
    file = undefined;
    await open?.close();
  }

  return {
    get size() {
      return size;
    },
    append(entries) {
      file ??= openFile(path, { createDirectory: true });
      try {
        file.append(entries);
        size = file.size;
      } catch (error) {
        void close().catch(() => {});
        throw error;
      }
    },
    sync: async () => file?.sync(),
    async cut() {
      if (size === 0) return;
      await close();
      truncateSync(path, 0);
      size = 0;
    },
    close,
  };
}

export function walEntry(agentId: AgentId, lineText: string): string {
  return `${entryStart(agentId)}${lineText}}\n`;
}

interface WalLine {
  readonly id: LineId;
  /** Text of the line in the agent's file. */
  readonly text: string;
}

/** Reads the entries that an earlier process left behind. Skips incomplete entries, which were never acknowledged. */
function readWriteAheadLog(path: string): Map<AgentId, WalLine[]> {
  const agents = new Map<AgentId, WalLine[]>();
  const bytes = readIfExists(path);
  if (bytes === undefined) return agents;
  for (const { value, text } of parseJsonLines(bytes).records) {
    const entry = value as { agent?: unknown; line?: Partial<Line> } | null;
    const agent = entry?.agent;
    const id = entry?.line?.id;
    if (typeof agent !== "string" || !isAgentId(agent) || typeof id !== "string") continue;
    const start = entryStart(agent);
    const parent = entry?.line?.parentId;
    if (!text.startsWith(start) || Number(parent) + 1 !== Number(id)) continue;
    const lines = agents.get(agent) ?? [];
    lines.push({ id, text: text.slice(start.length, -1) });
    agents.set(agent, lines);
  }
  return agents;
}

function entryStart(agentId: AgentId): string {
  return `{"agent":${JSON.stringify(agentId)},"line":`;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

interface Recovered {
  /** All agents with lines in the write-ahead log. The log may be emptied only after their files are synced. */
  readonly logs: readonly AgentLog[];
  readonly problems: readonly Problem[];
}

/** Restores lines that a power cut removed from the agents' files. Idempotent. */
export async function recover(paths: SessionPaths, use: { files: OpenFiles; retry: DiskRetry }): Promise<Recovered> {
  const logs: AgentLog[] = [];
  const problems: Problem[] = [];
  for (const [agentId, entries] of readWriteAheadLog(paths.wal)) {
    const path = agentPath(paths, agentId);
    const found = loadAgentLog(agentId, path);
    const missing = missingOf(entries, found.log);
    if (missing.length === 0) {
      logs.push(found.log);
      problems.push(...found.problems);
      continue;
    }
    await use.retry.run(() => appendTexts(found.log, missing, use.files));
    use.files.drop(found.log);
    const restored = loadAgentLog(agentId, path);
    logs.push(restored.log);
    const message = `Lost in a power cut and restored from the write-ahead log: ${plural(missing.length, "line")}.`;
    const setAside = found.problems.filter((problem) => problem.line === 0);
    problems.push(...setAside, ...restored.problems, { file: path, line: 0, message });
  }
  return { logs, problems };
}

function missingOf(entries: readonly WalLine[], log: AgentLog): string[] {
  const known = new Set((log.loaded ?? []).map((line) => line.id));
  const texts: string[] = [];
  for (const { id, text } of entries) {
    if (known.has(id)) continue;
    known.add(id);
    texts.push(text);
  }
  return texts;
}
