import {
  type AgentId,
  type CallId,
  type EndedNotice,
  type EventOf,
  type ForkOrigin,
  type KeptWorktree,
  type Line,
  type Notice,
  noFacts,
  noUsage,
  type RecordedPolicy,
  type RunEnd,
  type RunId,
} from "../../protocol/index.ts";
import type { EndedRun } from "../host/run-host.ts";

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
  /** Its conversation goes on from another's. */
  readonly fork?: ForkOrigin;
  /** What its last run left. */
  readonly worktree?: KeptWorktree;
  /** What was asked for, by name; it goes on with that. */
  readonly model?: string;
  /** Its newest run. */
  readonly runId: RunId;
  /** What it was allowed in that run. */
  readonly policy?: RecordedPolicy;
  /** How that ended; absent while it runs. */
  readonly end?: RunEnd;
}

/** Undefined for a transcript that says too little. */
export function recordOf(lines: readonly Line[], outputFile: string | undefined): AgentRecord | undefined {
  const created = lines.find((line) => line.type === "agent.created");
  const started = lines.findLast((line) => line.type === "run.started");
  if (created?.type !== "agent.created" || started?.type !== "run.started") return undefined;
  const end = endIn(lines, started.runId);
  const { agentId, agentType, description, name, depth, parent, isolation, fork } = created;
  return {
    agentId,
    agentType,
    description,
    ...(name === undefined ? {} : { name }),
    parent: parent.agentId,
    depth,
    callId: parent.callId,
    ...(outputFile === undefined || !isInBackground(lines, started) ? {} : { outputFile }),
    ...(isolation === undefined ? {} : { isolation }),
    ...(fork === undefined ? {} : { fork }),
    ...aftermathIn(lines, started.runId),
    ...(started.requestedModel === null ? {} : { model: started.requestedModel }),
    runId: started.runId,
    ...(started.policy === undefined ? {} : { policy: started.policy }),
    ...(end === undefined ? {} : { end }),
  };
}

function isInBackground(lines: readonly Line[], { background, runId }: EventOf<"run.started">): boolean {
  return background === true || lines.some((line) => line.type === "run.backgrounded" && line.runId === runId);
}

export function endIn(lines: readonly Line[], runId: RunId): RunEnd | undefined {
  const ended = lines.findLast((line) => line.type === "run.ended" && line.runId === runId);
  return ended?.type === "run.ended" ? ended : undefined;
}

/** A run that should have a transcript and has none any more. */
export function lostRun({ agentId, runId }: Notice): EndedRun {
  const message = "Its transcript is gone; nobody can tell what it did.";
  const nothing = { text: "", turns: 0, usage: noUsage, milliseconds: 0, modelMilliseconds: 0, facts: noFacts };
  const end: RunEnd = { runId, outcome: "failed", reason: "process_lost", message, ...nothing };
  return { agentId, agentType: "unknown", description: "an agent that was lost", end };
}

export type Aftermath = Pick<AgentRecord, "worktree">;

/** What stands behind the end of a run. */
export function aftermathIn(lines: readonly Line[], runId: RunId): Aftermath {
  const cleaned = lines.findLast((line) => line.type === "run.cleaned" && line.runId === runId);
  return cleaned?.type === "run.cleaned" && cleaned.worktree ? { worktree: cleaned.worktree } : {};
}

export function isCleaned(lines: readonly Line[], runId: RunId): boolean {
  return lines.some((line) => line.type === "run.cleaned" && line.runId === runId);
}

/** Of its end, for who is told of it. */
export function endedNotice({ agentId, end: { runId, outcome, facts } }: EndedRun): EndedNotice {
  const { unreturned } = facts;
  return { agentId, runId, outcome, ...(unreturned ? { unreturned } : {}) };
}

export function endedRun(record: AgentRecord, end: RunEnd): EndedRun {
  const { agentId, agentType, description, outputFile, worktree } = record;
  const { acceptance } = end;
  return {
    agentId,
    agentType,
    description,
    ...(outputFile === undefined ? {} : { outputFile }),
    ...(worktree === undefined ? {} : { worktree }),
    ...(acceptance === undefined ? {} : { acceptance }),
    end,
  };
}
