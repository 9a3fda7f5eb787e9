import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readTranscript } from "../../app/index.ts";
import { errorCode } from "../../lib/index.ts";
import type { AgentId, Line, SubagentEvent } from "../../protocol/index.ts";
import type { AgentViews } from "./agent-views.ts";

export interface AgentFile {
  readonly agentId: AgentId;
  readonly lines: readonly Line[];
  readonly problems: readonly string[];
}

/** The transcripts of a session's subagents, by the path of its own; the oldest agent first. */
export function readAgentFiles(transcriptPath: string): readonly AgentFile[] {
  const agentIds = namesIn(directoryOf(transcriptPath)).flatMap((name) => /^agent-(.+)\.jsonl$/.exec(name)?.[1] ?? []);
  const files = agentIds.map((agentId) => readAgentFile(transcriptPath, agentId));
  return files.sort(byBirth);
}

/** Those of one moment in the order of the calls that wanted them. */
function byBirth({ lines: [left] }: AgentFile, { lines: [right] }: AgentFile): number {
  return (left?.at ?? 0) - (right?.at ?? 0) || callOf(left).localeCompare(callOf(right), "en", { numeric: true });
}

function callOf(line: Line | undefined): string {
  return line?.type === "agent.created" ? line.parent.callId : "";
}

/** Of agents that were seen to run, the ends that nobody told of: they were stopped with the session. */
export function unseenEnds(transcriptPath: string, agents: AgentViews): readonly SubagentEvent[] {
  return agents.inOrder().flatMap(({ agentId, agentType, path, end }) => {
    if (end !== undefined) return [];
    const { lines } = readAgentFile(transcriptPath, agentId);
    const last = lines.findLast(({ type }) => type === "run.ended" || type === "run.started");
    if (last?.type !== "run.ended") return [];
    return [{ type: "subagent.event", agentId, agentType, path, event: last }];
  });
}

/** What a background agent says while it runs. */
export function outputFileOf(transcriptPath: string, agentId: AgentId): string {
  return join(directoryOf(transcriptPath), `agent-${agentId}.output`);
}

function readAgentFile(transcriptPath: string, agentId: AgentId): AgentFile {
  const { lines, problems } = readTranscript(join(directoryOf(transcriptPath), `agent-${agentId}.jsonl`));
  return { agentId, lines, problems: problems.map(({ message }) => message) };
}

function directoryOf(transcriptPath: string): string {
  return join(dirname(transcriptPath), basename(transcriptPath, ".jsonl"), "subagents");
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}
