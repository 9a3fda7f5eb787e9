import { type AgentLog, appendTexts, loadAgentLog } from "./agent-log.ts";
import type { OpenFiles } from "./open-files.ts";
import type { Problem } from "./parse-transcript.ts";
import type { Patience } from "./patience.ts";
import { agentPath, type SessionPaths } from "./session-paths.ts";
import { readWriteAheadLog, type WalLine } from "./write-ahead-log.ts";

export interface Recovered {
  /** Every agent of the write-ahead log: it may be emptied only when their files are synced. */
  readonly logs: readonly AgentLog[];
  readonly problems: readonly Problem[];
}

/** Brings back what a power cut took from the agents' files. Doing it again changes nothing. */
export async function recover(paths: SessionPaths, use: { files: OpenFiles; patience: Patience }): Promise<Recovered> {
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
    await use.patience.until(() => appendTexts(found.log, missing, use.files));
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
