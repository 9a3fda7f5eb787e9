import { readFileSync, statSync, truncateSync } from "node:fs";
import { type AppendFile, errorCode, parseJsonLines } from "../../lib/index.ts";
import type { AgentId, Line, LineId } from "../../protocol/index.ts";
import type { Problem } from "../reading/parse-transcript.ts";
import { agentPath, isAgentId, type SessionPaths } from "../session-paths.ts";
import { type AgentLog, appendTexts, loadAgentLog } from "./agent-log.ts";
import type { DiskRetry } from "./disk-retry.ts";
import type { OpenAppendFile, OpenFiles } from "./open-files.ts";

/** Copies of lines that must survive a power cut, of all agents of a session in one file: one sync serves them all. */
export interface WriteAheadLog {
  readonly size: number;
  /** Throws what the disk said; the entries may then be appended again as a whole. */
  append(entries: string): void;
  sync(): Promise<void>;
  /** Empties it. Only for when every line in it is safe in its agent's file. */
  cut(): Promise<void>;
  close(): Promise<void>;
}

export function openWriteAheadLog(path: string, openFile: OpenAppendFile): WriteAheadLog {
  let file: AppendFile | undefined;
  // A log that an earlier process left counts from the start, so that closing empties it.
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
  /** The line as it stood in the agent's file. */
  readonly text: string;
}

/** What an earlier process left; entries it did not finish were never promised. */
function readWriteAheadLog(path: string): Map<AgentId, WalLine[]> {
  const agents = new Map<AgentId, WalLine[]>();
  const bytes = readBytes(path);
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

function readBytes(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

interface Recovered {
  /** Every agent of the write-ahead log: it may be emptied only when their files are synced. */
  readonly logs: readonly AgentLog[];
  readonly problems: readonly Problem[];
}

/** Brings back what a power cut took from the agents' files. Doing it again changes nothing. */
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
    const message = `${missing.length} entries that a power cut had taken were restored from the write-ahead log.`;
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
