import type { AgentId, CallId, Line, RunEnd, RunId } from "../protocol/index.ts";
import type { EndedRun } from "./run-host.ts";

/** What is known of an agent of this session; all of it stands in its transcript. */
export interface AgentRecord {
  readonly agentId: AgentId;
  readonly agentType: string;
  readonly description: string;
  /** Given by its parent, to be called by. */
  readonly name?: string;
  readonly parent: AgentId;
  readonly depth: number;
  readonly callId: CallId;
  readonly outputFile?: string;
  /** Its newest run. */
  readonly runId: RunId;
  /** How that ended; absent while it runs. */
  readonly end?: RunEnd;
}

/** Undefined for a transcript that says too little. */
export function recordOf(lines: readonly Line[], outputFile: string | undefined): AgentRecord | undefined {
  const created = lines.find((line) => line.type === "agent.created");
  const started = lines.findLast((line) => line.type === "run.started");
  if (created?.type !== "agent.created" || started?.type !== "run.started") return undefined;
  const end = endIn(lines, started.runId);
  const { agentId, agentType, description, name, depth, parent } = created;
  return {
    agentId,
    agentType,
    description,
    ...(name === undefined ? {} : { name }),
    parent: parent.agentId,
    depth,
    callId: parent.callId,
    ...(outputFile === undefined || !started.background ? {} : { outputFile }),
    runId: started.runId,
    ...(end === undefined ? {} : { end }),
  };
}

export function endIn(lines: readonly Line[], runId: RunId): RunEnd | undefined {
  const ended = lines.findLast((line) => line.type === "run.ended" && line.runId === runId);
  return ended?.type === "run.ended" ? ended : undefined;
}

export function endedRun({ agentId, agentType, description, outputFile }: AgentRecord, end: RunEnd): EndedRun {
  return { agentId, agentType, description, ...(outputFile === undefined ? {} : { outputFile }), end };
}
