import { existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { AgentId, Head, Line } from "../protocol/index.ts";
import { readHead } from "./heads.ts";
import { readTranscript } from "./read-transcript.ts";
import { agentPath, listAgents, sessionPathsIn } from "./session-paths.ts";

/** What a session's files say. For looking only: takes no lock and repairs nothing. */
export interface ReadSession {
  readonly sessionId: string;
  agents(): Promise<readonly AgentId[]>;
  read(agentId: AgentId): Promise<readonly Line[]>;
  loadHead(hash: string): Promise<Head | undefined>;
}

/** By the path of its main transcript. */
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
