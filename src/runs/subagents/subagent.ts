import { resolve } from "node:path";
import type { Deferred } from "../../lib/index.ts";
import { commandsUnderWay, factsBefore, factsOf, foldWork, initialState, withEarlier } from "../../loop/index.ts";
import {
  type AgentId,
  addFacts,
  type CallId,
  type Changes,
  type Effort,
  type EndedNotice,
  type EventOf,
  type JsonSchema,
  type KeptWorktree,
  type Line,
  noFacts,
  noUsage,
  type RecordedPolicy,
  type RunEnd,
  type RunFacts,
  type RunId,
  type RunRef,
  type SpawnSpec,
  VERIFIER,
} from "../../protocol/index.ts";
import { judgedReport } from "../acceptance/verdict.ts";
import type { OutputCheck } from "../host/output-check.ts";
import type { Run } from "../host/run.ts";
import type { Thread } from "../thread/thread.ts";
import type { AgentOutput } from "./agent-output.ts";

/** Terms of one subagent run, set by the call that starts or resumes it. */
export interface RunTerms {
  readonly prompt: string;
  readonly background: boolean;
  readonly model?: string | undefined;
  readonly maxTurns?: number | undefined;
  /** Effort of this run, instead of the definition's. A fork has that of its parent. */
  readonly effort?: Effort | undefined;
  /** Command that must succeed for the work to be accepted. Replaces the command in the definition. */
  readonly acceptance?: string | undefined;
  /** Set if the call starts a fork of the caller instead of an agent type. */
  readonly fork?: ForkBounds | undefined;
  /** Checks the answer against a schema, if the program passed one. */
  readonly output?: OutputCheck | undefined;
  /** JSON Schema of the report. Replaces the schema in the definition. */
  readonly outputSchema?: JsonSchema | undefined;
}

/** A request to start a subagent: what the subagent is, and the terms of its first run. */
export type SpawnRequest = RunTerms & Pick<SpawnSpec, "agentType" | "description" | "name" | "isolation">;

/** The call that a subagent works for. */
export interface Caller {
  readonly agentId: AgentId;
  readonly callId: CallId;
  readonly signal: AbortSignal;
  /** Set if no call starts the subagent. */
  readonly by?: SpawnSpec["by"];
}

/** Limits that a fork has in addition to its parent's. */
export interface ForkBounds {
  /** Number of most recent turns that the fork gets. If absent, it gets all turns. */
  readonly turns?: number | undefined;
  /** The only tools that the fork may run. All other tools stay declared, to keep the cache valid. */
  readonly allowedTools?: readonly string[] | undefined;
  readonly readOnly?: boolean | undefined;
}

/** Outcome of starting or resuming a subagent. */
export type SpawnOutcome =
  | { readonly status: "ended"; readonly result: SubagentResult; readonly isFork: boolean }
  | {
      readonly status: "launched";
      readonly notice: RunRef;
      /** Path of the readable output, for people. */
      readonly outputFile?: string | undefined;
      readonly isFork: boolean;
    }
  | { readonly status: "refused"; readonly message: string };

/** A subagent of the session: data from its transcript, and its run while one is in progress. */
export interface Subagent extends SpawnSpec {
  /** Id of the newest run. */
  runId: RunId;
  /** Name of the requested model. It still applies when the subagent is resumed. */
  model?: string | undefined;
  /** Command that must succeed for the newest run's work to be accepted. */
  acceptance?: string | undefined;
  /** JSON Schema of the newest run's report. */
  outputSchema?: JsonSchema | undefined;
  /** Whether the newest run worked in the background, or was moved there. */
  inBackground?: boolean | undefined;
  /** Policy of the newest run. */
  policy?: RecordedPolicy | undefined;
  /** Worktree that was kept after the newest run. */
  worktree?: KeptWorktree | undefined;
  /** End of the newest run. Absent while the run is in progress. */
  end?: RunEnd | undefined;
  running?: RunningSubagent | undefined;
  /** Thread that was restored to end a lost run, kept until the subagent is resumed. */
  restored?: Thread | undefined;
}

/** Returns the part of a subagent that its `agent.created` line records. */
export function specOf({
  agentId,
  agentType,
  description,
  name,
  isolation,
  fork,
  parent,
  by,
  depth,
}: SpawnSpec): SpawnSpec {
  return { agentId, agentType, description, name, isolation, fork, parent, by, depth };
}

/** A subagent's run that is in progress. */
export interface RunningSubagent {
  readonly run: Run;
  /** Settles when all resources of the run are released. */
  readonly done: Promise<SubagentResult>;
  background: boolean;
  readonly output: AgentOutput;
  /** Resolves when the run is moved to the background. */
  readonly detached: Deferred<void>;
}

/** A subagent, with the end of one of its runs. */
export interface SubagentResult
  extends Pick<Subagent, "agentId" | "agentType" | "description" | "inBackground" | "worktree"> {
  readonly end: RunEnd;
}

/** Returns a run's result for its caller. A verifier's verdict is valid only if the verifier ran a command. */
export function resultOf(
  { agentId, agentType, description, inBackground, worktree }: Omit<SubagentResult, "end">,
  end: RunEnd,
): SubagentResult {
  const judged = agentType === VERIFIER ? { ...end, text: judgedReport(end) } : end;
  return { agentId, agentType, description, inBackground, worktree, end: judged };
}

/** Returns the result for a run whose transcript is missing. */
export function lostResult({ agentId, runId }: RunRef): SubagentResult {
  const message = "Its transcript is missing, so its actions are unknown.";
  const nothing = { text: "", turns: 0, usage: noUsage, milliseconds: 0, modelMilliseconds: 0, facts: noFacts };
  const end: RunEnd = { runId, outcome: "failed", reason: "process_lost", message, ...nothing };
  return { agentId, agentType: "unknown", description: "a lost agent", end };
}

export function endedNotice(result: SubagentResult): EndedNotice {
  const { agentId, agentType, worktree, end } = result;
  const { runId, outcome, facts } = end;
  const { unreturned } = facts;
  // A verifier works in a scratch copy, which is removed.
  const changes = agentType === VERIFIER ? undefined : changesIn(facts, worktree);
  return { agentId, runId, outcome, unreturned, changes };
}

/** Returns what an agent has changed so far, whether or not its newest run has ended. */
export function changesSoFar(
  { agentType, isolation, worktree, end }: Subagent,
  live: { readonly thread: Pick<Thread, "state">; readonly services: { readonly cwd: string } } | undefined,
): Changes | undefined {
  if (agentType === VERIFIER) return undefined;
  if (end !== undefined) return changesIn(end.facts, worktree);
  if (live === undefined) return undefined;
  const { state } = live.thread;
  const done = addFacts(factsBefore(state.work) ?? noFacts, factsOf(state));
  const facts = { ...done, agentCommands: [...(done.agentCommands ?? []), ...commandsUnderWay(state.calls)] };
  return changesIn(facts, isolation === undefined ? undefined : { path: live.services.cwd });
}

/** Returns an agent's changes. If the agent worked in a worktree, its files have absolute paths. */
function changesIn(
  { filesChanged, commands, agentCommands = [], unknown }: RunFacts,
  worktree: Pick<KeptWorktree, "path" | "directory"> | undefined,
): Changes | undefined {
  const place = worktree?.directory ?? worktree?.path;
  const own = commands.flatMap(({ command, readsOnly }) => (readsOnly ? [] : [command]));
  const lost = unknown.map((callId) => `call ${callId} (outcome unknown)`);
  const all = [...new Set([...own, ...agentCommands, ...lost])];
  const files = place === undefined ? filesChanged : filesChanged.map((file) => resolve(place, file));
  const named = place === undefined ? all : all.map((command) => `${command} (in ${place})`);
  return files.length + all.length === 0 ? undefined : { files, commands: named };
}

/** Returns an agent's label for lists and error messages. */
export function labelOf({
  agentId,
  agentType,
  description,
}: Pick<SubagentResult, "agentId" | "agentType"> & { readonly description?: string | undefined }): string {
  return `${agentId} (${agentType}: ${description})`;
}

/** Reads a subagent from the lines of its transcript. Returns undefined if the transcript is too damaged to read. */
export function readSubagent(lines: readonly Line[]): Subagent | undefined {
  const created = lines.find((line): line is Line & EventOf<"agent.created"> => line.type === "agent.created");
  const started = lines.findLast((line): line is Line & EventOf<"run.started"> => line.type === "run.started");
  if (created === undefined || started === undefined) return undefined;
  const { runId, policy, requestedModel, acceptance, outputSchema } = started;
  return {
    ...specOf(created),
    runId,
    model: requestedModel ?? undefined,
    policy,
    acceptance,
    outputSchema,
    inBackground: wasInBackground(lines, started),
    worktree: worktreeOf(lines, runId),
    end: endOf(lines, runId),
  };
}

function wasInBackground(lines: readonly Line[], { background, runId }: EventOf<"run.started">): boolean {
  return background === true || lines.some((line) => line.type === "run.backgrounded" && line.runId === runId);
}

/** Returns how a run ended. The result includes what the runs did that it continues. */
export function endOf(lines: readonly Line[], runId: RunId): RunEnd | undefined {
  let work = initialState.work;
  for (const line of lines) {
    if (line.type === "run.ended" && line.runId === runId) return withEarlier(line, work.done);
    work = foldWork(work, line);
  }
  return undefined;
}

export function worktreeOf(lines: readonly Line[], runId: RunId): KeptWorktree | undefined {
  return cleanUpOf(lines, runId)?.worktree;
}

export function cleanUpOf(lines: readonly Line[], runId: RunId): EventOf<"run.cleaned"> | undefined {
  return lines.findLast(
    (line): line is Line & EventOf<"run.cleaned"> => line.type === "run.cleaned" && line.runId === runId,
  );
}
