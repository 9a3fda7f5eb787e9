import type { AgentId, CallId, KeptWorktree, Line, RunEnd, RunId } from "../protocol/index.ts";
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
  /** Its call wanted it to work in a copy of its own. */
  readonly isolation?: "worktree";
  /** What its last run left. */
  readonly worktree?: KeptWorktree;
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
  const { agentId, agentType, description, name, depth, parent, isolation } = created;
  const worktree = worktreeIn(lines, started.runId);
  return {
    agentId,
    agentType,
    description,
    ...(name === undefined ? {} : { name }),
    parent: parent.agentId,
    depth,
    callId: parent.callId,
    ...(outputFile === undefined || !started.background ? {} : { outputFile }),
    ...(isolation === undefined ? {} : { isolation }),
    ...(worktree === undefined ? {} : { worktree }),
    runId: started.runId,
    ...(end === undefined ? {} : { end }),
  };
}

export function endIn(lines: readonly Line[], runId: RunId): RunEnd | undefined {
  const ended = lines.findLast((line) => line.type === "run.ended" && line.runId === runId);
  return ended?.type === "run.ended" ? ended : undefined;
}

export function worktreeIn(lines: readonly Line[], runId: RunId): KeptWorktree | undefined {
  const cleaned = lines.findLast((line) => line.type === "run.cleaned" && line.runId === runId);
  return cleaned?.type === "run.cleaned" ? cleaned.worktree : undefined;
}

export function endedRun(
  { agentId, agentType, description, outputFile, worktree }: AgentRecord,
  end: RunEnd,
): EndedRun {
  const more = { ...(outputFile === undefined ? {} : { outputFile }), ...(worktree === undefined ? {} : { worktree }) };
  return { agentId, agentType, description, ...more, end };
}
