import { constants, existsSync, readFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline/promises";
import { describeError, errorCode, UserError } from "../../lib/index.ts";
import type { AgentId, EventOf, Head, Line } from "../../protocol/index.ts";
import { readHead } from "../journal/heads.ts";
import { resultName } from "../journal/result-store.ts";
import { agentPath, listAgents, sessionPathsIn } from "../session-paths.ts";
import { type Problem, parseTranscript } from "./parse-transcript.ts";

/** Read-only view of a session's files. Takes no lock and repairs nothing. */
export interface ReadSession {
  readonly sessionId: string;
  agents(): Promise<readonly AgentId[]>;
  read(agentId: AgentId): Promise<readonly Line[]>;
  /** Returns the same lines as `read`, and the numbers of the lines that can't be read and were skipped. */
  readAll(agentId: AgentId): Promise<{ readonly lines: readonly Line[]; readonly skipped: readonly number[] }>;
  /**
   * Returns the first line of a subagent's transcript, without reading the other lines; undefined if the transcript has
   * no lines.
   */
  readCreated(agentId: AgentId): Promise<EventOf<"agent.created"> | undefined>;
  loadHead(hash: string): Promise<Head | undefined>;
  /** Opens the complete output of a call. Returns undefined if no such output is stored. */
  openResult(name: string): Promise<FileHandle | undefined>;
}

/** Reads a session, given the path of the main agent's transcript. */
export function readSession(transcriptPath: string): ReadSession {
  const sessionId = basename(transcriptPath, ".jsonl");
  const paths = sessionPathsIn(dirname(transcriptPath), sessionId);
  return {
    sessionId,
    agents: async () => listAgents(paths),
    read: async (agentId) => {
      const path = agentPath(paths, agentId);
      return existsSync(path) ? readTranscript(path).lines : [];
    },
    readAll: async (agentId) => {
      const path = agentPath(paths, agentId);
      if (!existsSync(path)) return { lines: [], skipped: [] };
      const { lines, problems } = readTranscript(path);
      const skipped = problems.filter(({ message }) => message.endsWith("skipped.")).map(({ line }) => line);
      return { lines, skipped: [...new Set(skipped)] };
    },
    readCreated: async (agentId) => {
      const file = await openExisting(agentPath(paths, agentId));
      const [first] = file === undefined ? [] : await firstLine(file);
      return first?.type === "agent.created" ? first : undefined;
    },
    loadHead: async (hash) => readHead(paths.heads, hash),
    openResult: async (name) => openExisting(join(paths.results, `${resultName(name)}.txt`)),
  };
}

export interface ReadTranscript {
  readonly lines: readonly Line[];
  readonly problems: readonly Problem[];
}

/** Reads a transcript without taking a lock or repairing anything, so that another process can continue writing it. */
export function readTranscript(path: string): ReadTranscript {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new UserError(`The transcript ${path} can't be read: ${describeError(error)}`, {
      code: "transcript",
      cause: error,
    });
  }
  const { lines, problems } = parseTranscript(bytes, path);
  return { lines, problems };
}

async function firstLine(file: FileHandle): Promise<readonly Line[]> {
  const input = file.createReadStream();
  try {
    for await (const text of createInterface({ input })) return parseTranscript(Buffer.from(text), "").lines;
    return [];
  } finally {
    input.destroy();
  }
}

/**
 * Opens a file unless it is a symlink, which would bypass the rules for reading files. Returns undefined if the file
 * does not exist.
 */
async function openExisting(path: string): Promise<FileHandle | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    if ((await file.stat()).isFile()) return file;
    await file.close();
    return undefined;
  } catch (error) {
    if (["ENOENT", "ELOOP", "ENOTDIR"].includes(errorCode(error) ?? "")) return undefined;
    throw error;
  }
}
