import { existsSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { describeError, UserError } from "../../lib/index.ts";
import type { AgentId, Head, Line } from "../../protocol/index.ts";
import { readHead } from "../journal/heads.ts";
import { agentPath, listAgents, sessionPathsIn } from "../session-paths.ts";
import { type Problem, parseTranscript } from "./parse-transcript.ts";

/** Read-only view of a session's files. Takes no lock and repairs nothing. */
export interface ReadSession {
  readonly sessionId: string;
  agents(): Promise<readonly AgentId[]>;
  read(agentId: AgentId): Promise<readonly Line[]>;
  loadHead(hash: string): Promise<Head | undefined>;
}

/** Reads a session by the path of the main agent's transcript. */
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
    loadHead: async (hash) => readHead(paths.heads, hash),
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
