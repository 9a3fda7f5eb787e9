import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { ListedAgent } from "../../app/index.ts";
import { lastRunEnd, readTranscript } from "../../app/index.ts";
import { errorCode } from "../../lib/index.ts";
import type { AgentId, Line, SubagentEvent } from "../../protocol/index.ts";
import type { AgentViews } from "./agent-views.ts";

export interface AgentTranscript extends ListedAgent {
  readonly lines: readonly Line[];
  readonly problems: readonly string[];
}

/** Reads the transcripts of a session's subagents, oldest agent first. `transcriptPath` is the session's own. */
export function readAgentTranscripts(transcriptPath: string): readonly AgentTranscript[] {
  return agentIdsOf(transcriptPath)
    .map((agentId) => readAgentTranscript(transcriptPath, agentId))
    .sort(byCreation);
}

/** Reads the transcripts of the subagents whose last run has not succeeded, and only the ends of the others. */
export function readUnfinishedAgents(transcriptPath: string): readonly AgentTranscript[] {
  return agentIdsOf(transcriptPath)
    .filter((agentId) => lastRunEnd(agentPathOf(transcriptPath, agentId))?.outcome !== "succeeded")
    .map((agentId) => readAgentTranscript(transcriptPath, agentId))
    .sort(byCreation);
}

function agentIdsOf(transcriptPath: string): AgentId[] {
  return namesIn(directoryOf(transcriptPath)).flatMap((name) => /^agent-(.+)\.jsonl$/.exec(name)?.[1] ?? []);
}

/** Sorts agents by creation time; those created at the same time are in the order of the calls that started them. */
function byCreation({ lines: [left] }: AgentTranscript, { lines: [right] }: AgentTranscript): number {
  return (left?.at ?? 0) - (right?.at ?? 0) || callOf(left).localeCompare(callOf(right), "en", { numeric: true });
}

function callOf(line: Line | undefined): string {
  return line?.type === "agent.created" ? line.parent.callId : "";
}

/** Reads how agents that were stopped with the session ended, if the run did not report it. */
export function missedRunEnds(transcriptPath: string, agents: AgentViews): readonly SubagentEvent[] {
  return agents.inOrder().flatMap(({ agentId, agentType, path, end }) => {
    if (end !== undefined) return [];
    const { lines } = readAgentTranscript(transcriptPath, agentId);
    const last = lines.findLast(({ type }) => type === "run.ended" || type === "run.started");
    if (last?.type !== "run.ended") return [];
    return [{ type: "subagent.event", agentId, agentType, path, event: last }];
  });
}

/** Returns the path of a background agent's output file. */
export function outputFileOf(transcriptPath: string, agentId: AgentId): string {
  return join(directoryOf(transcriptPath), `agent-${agentId}.output`);
}

/** Reads the transcript of a subagent. */
export function readAgentTranscript(transcriptPath: string, agentId: AgentId): AgentTranscript {
  const { lines, problems } = readTranscript(agentPathOf(transcriptPath, agentId));
  const [created] = lines;
  const name = created?.type === "agent.created" ? created.name : undefined;
  return { agentId, name, lines, problems: problems.map(({ message }) => message) };
}

export function agentPathOf(transcriptPath: string, agentId: AgentId): string {
  return join(directoryOf(transcriptPath), `agent-${agentId}.jsonl`);
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
