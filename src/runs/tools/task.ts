import { expectedTokens } from "../../loop/index.ts";
import { accesses } from "../../permissions/index.ts";
import type { Tool, ToolContext, ToolOutput, ToolSpec } from "../../ports/index.ts";
import { type AgentId, isSameAgent, type JsonObject } from "../../protocol/index.ts";
import { contextLimits } from "../compaction/context-limits.ts";

import { listTypes } from "../subagents/available-agents.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { endedNotice, type SpawnOutcome, type SpawnRequest, type SubagentResult } from "../subagents/subagent.ts";
import {
  boundReport,
  LONGEST_REPORT,
  launchedText,
  MAY_NOT_DELEGATE,
  refusalText,
  resultText,
  totalsOf,
  unknownAgentText,
} from "../subagents/task-text.ts";
import { acceptAnyName, forkPropertyIn, readRequest, textIn } from "./task-spec.ts";

export function createTask(dispatcher: Dispatcher, spec: ToolSpec): Tool {
  return forDelegators(dispatcher, {
    ...spec,
    accepts: acceptAnyName(spec.declaration.inputSchema),
    refusesMisspelled: true,
    ...waitingLimits,
    accesses: async (input, agentId) => {
      const [access] = accesses("Task", input);
      if (access?.kind !== "agent" || agentId === undefined) return { ok: true, accesses: access ? [access] : [] };
      const request = readRequest(input, dispatcher.mayFork);
      const { models } = await dispatcher.wanted(request, agentId, textIn(input, "resume"));
      return { ok: true, accesses: [{ ...access, models }] };
    },
    run: async (input, context) => {
      const request = readRequest(input, dispatcher.mayFork);
      const { agentType } = request;
      const call = { request, input, context };
      if (request.prompt.trim() === "")
        return refused(agentType, "prompt is empty. Say what to do, where, and what to report.");
      const resume = textIn(input, "resume");
      if (resume !== undefined) return resumeAgent(dispatcher, { ...call, resume });
      if (agentType === "") {
        return refused("", `subagent_type is missing. ${listTypes(dispatcher.offeredTo(context.agentId))}`);
      }
      const conflict = conflictIn(input, request, dispatcher.mayFork);
      if (conflict !== undefined) return refused(agentType, conflict);
      return startAgent(dispatcher, { request, context, judged: judgedType(input) });
    },
  });
}

/** Limits of a call that waits for a subagent. The subagent has its own time limits. */
export const waitingLimits: Pick<Tool, "timeoutMs" | "abortGraceMs" | "maxCharacters"> = {
  timeoutMs: () => Number.MAX_SAFE_INTEGER,
  abortGraceMs: 5_000,
  maxCharacters: LONGEST_REPORT,
};

interface AgentStart extends Pick<TaskCall, "request" | "context"> {
  /** Agent type for which the decision on the call was made. Absent if the decision did not consider an agent type. */
  readonly judged?: string | undefined;
}

/** Starts a subagent unless rules forbid it, and returns the subagent's report for the calling model. */
export async function startAgent(
  dispatcher: Dispatcher,
  { request, context, judged }: AgentStart,
): Promise<ToolOutput> {
  const { agentType, name = "" } = request;
  if (invisible.test(name))
    return refused(agentType, "name contains control or invisible characters. Use letters, digits, dashes and spaces.");
  const { models } = await dispatcher.wanted(request, context.agentId);
  const denial = await denialOf(namesOf(agentType, dispatcher.offered()), { judged, context, request, models });
  if (denial !== undefined) return refused(agentType, denial);
  const outcome = await dispatcher.spawn(request, context);
  return outputOf(outcome, { request, maxCharacters: reportLength(dispatcher, context) });
}

/** Characters that would let an agent's name imitate other text. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** Wraps a tool so that it refuses agents that may not delegate, regardless of the policy that allowed the call. */
export function forDelegators(dispatcher: Dispatcher, tool: Tool): Tool {
  return {
    ...tool,
    run: async (input, context) => {
      if (dispatcher.mayDelegate(context.agentId)) return tool.run(input, context);
      return { content: `This agent can't use ${tool.declaration.name}: ${MAY_NOT_DELEGATE}`, isError: true };
    },
  };
}

interface TaskCall {
  readonly request: SpawnRequest;
  readonly input: JsonObject;
  readonly context: ToolContext;
}

async function resumeAgent(
  dispatcher: Dispatcher,
  { resume, request, input, context }: TaskCall & { readonly resume: string },
): Promise<ToolOutput> {
  const { registry } = dispatcher;
  const { agentId: caller } = context;
  const subagent = await registry.find(resume, caller);
  if (subagent === undefined)
    return refused(request.agentType, unknownAgentText(resume, await registry.all(caller), caller));
  const { agentId, agentType } = subagent;
  if (request.agentType !== "" && !isSameAgent(request.agentType, agentType))
    return refused(
      request.agentType,
      `Agent ${agentId} has the type ${agentType}. Resume it with that subagent_type, or omit subagent_type.`,
    );
  if (registry.isRunning(agentId)) return refused(agentType, stillRunning(agentId, registry.isWaitedFor(agentId)));
  if (subagent.fork?.kind === "fork" && request.model !== undefined) return refused(agentType, noModel);
  if (request.isolation !== undefined && subagent.isolation === undefined)
    return refused(
      agentType,
      `Agent ${agentId} continues in the directory where it worked before. Omit isolation, or start another agent.`,
    );
  const property = forkPropertyIn(input);
  if (property !== undefined)
    return refused(agentType, `${property} is only for new forks: a resumed fork keeps its limits. Omit it.`);
  const denial = await denialOf([agentType], { judged: judgedType(input), context });
  if (denial !== undefined) return refused(agentType, denial);
  const outcome = await dispatcher.resume(agentId, request, context);
  return outputOf(outcome, {
    request: { ...request, agentType },
    maxCharacters: reportLength(dispatcher, context),
  });
}

function stillRunning(agentId: AgentId, isWaitedFor: boolean): string {
  const remedy = isWaitedFor ? "Its report arrives when it ends." : "Use SendMessage to send it a message.";
  return `Agent ${agentId} is still running. ${remedy}`;
}

/** Explains which options of a call conflict. Ignoring one of them would do something other than what was requested. */
function conflictIn(input: JsonObject, { fork, model, isolation }: SpawnRequest, mayFork: boolean): string | undefined {
  if (fork === undefined) {
    const property = forkPropertyIn(input);
    if (property === undefined) return undefined;
    const remedy = mayFork ? "omit it, or omit subagent_type." : "omit it. Forks are off in this session.";
    return `${property} is only for forks: ${remedy}`;
  }
  if (model !== undefined) return noModel;
  if (isolation !== undefined)
    return "A fork works in its parent's directory: omit isolation, or name a subagent_type.";
  return undefined;
}

const noModel = "A fork uses its conversation's model: omit model, or name a subagent_type.";

/** Returns the agent type for which the decision on a Task call was made. */
function judgedType(input: JsonObject): string {
  return String(input["subagent_type"] ?? "");
}

/**
 * Returns the reason if rules deny the agent type under one of its names. The name for which the decision was made is
 * not checked again.
 */
async function denialOf(
  names: readonly string[],
  {
    judged,
    context,
    request,
    models,
  }: Pick<AgentStart, "judged" | "context"> &
    Partial<Pick<AgentStart, "request">> & { readonly models?: readonly string[] | undefined },
): Promise<string | undefined> {
  const parameters = request?.background === true ? { run_in_background: "true" } : undefined;
  for (const agentType of names.filter((name) => judged === undefined || !isSameAgent(name, judged))) {
    const { effect, rule, reason } = await context.authorize({ kind: "agent", agentType, parameters, models });
    if (effect === "deny") return reason;
    // If the decision on the call was made for an agent type, rules about the whole tool have already been applied.
    if (effect === "ask" && (judged === undefined || rule.includes("(")))
      return `The rule ${rule} requires approval. Call Task with subagent_type: "${agentType}", so that the user can be asked.`;
  }
  return undefined;
}

/** Returns all names of an agent type. Plugin agents can also be called without the plugin's name. */
function namesOf(agentType: string, offered: readonly string[]): readonly string[] {
  const ending = `:${agentType.toLowerCase()}`;
  return [agentType, ...offered.filter((name) => name.toLowerCase().endsWith(ending))];
}

function outputOf(
  outcome: SpawnOutcome,
  { request, maxCharacters }: { readonly request: SpawnRequest; readonly maxCharacters: number | undefined },
): ToolOutput {
  if (outcome.status === "refused") return refused(request.agentType, outcome.message);
  const entry = outcome.isFork ? "sub_agent_entered" : undefined;
  if (outcome.status === "launched") {
    const { notice, outputFile } = outcome;
    const { agentId } = notice;
    const { description, prompt } = request;
    return {
      content: launchedText(agentId),
      details: { status: "async_launched", entry, agentId, description, prompt, outputFile },
      facts: { launched: notice },
    };
  }
  const output = reportOf(outcome.result, maxCharacters);
  return { ...output, details: { ...output.details, entry } };
}

function reportOf(run: SubagentResult, maxCharacters: number | undefined): ToolOutput {
  const { end, agentId, agentType, worktree } = run;
  const totals = totalsOf(end);
  const notice = endedNotice(run);
  const isError = end.outcome === "failed" || end.outcome === "stopped";
  return {
    content: maxCharacters === undefined ? resultText(run) : resultText(run, boundReport(run, maxCharacters)),
    isError,
    details: {
      status: isError ? "failed" : "completed",
      agentId,
      agentType,
      outcome: end.outcome,
      reason: end.reason,
      turns: end.turns,
      usage: { ...end.usage },
      totalDurationMs: end.milliseconds,
      totalTokens: totals.tokens,
      totalToolUseCount: totals.calls,
      facts: { ...end.facts } as unknown as JsonObject,
      costUsd: end.costUsd,
      worktreePath: worktree?.path,
      worktreeBranch: worktree?.branch,
      // The key is present only if there was a check, because programs may test for the key.
      ...(end.acceptance ? { verified: end.acceptance.ok } : {}),
    },
    facts: { filesChanged: notice.changes?.files, agent: notice },
  };
}

export function refused(agentType: string, message: string): ToolOutput {
  return { content: refusalText(agentType, message), isError: true, details: { status: "refused" } };
}

/** Deliberately low estimate, so that a report of the computed length fits. */
const CHARACTERS_PER_TOKEN = 3;
/** Minimum length in characters, enough for the beginning and the end of a report. */
const SHORTEST_REPORT = 400;
/** Maximum length in characters. Leaves room for the facts after the report, within the executor's limit. */
const LONGEST_PART = LONGEST_REPORT - 2_000;

/**
 * Returns the maximum length of the report for this caller, in characters. The calls in one response share what is left
 * of the caller's window. Returns undefined if the executor's usual limit applies, beyond which the executor saves the
 * complete text for Read. A report is shortened only if the caller can get the rest with TaskOutput.
 */
function reportLength({ registry }: Dispatcher, { agentId }: ToolContext): number | undefined {
  const caller = registry.live.get(agentId);
  if (caller === undefined) return undefined;
  const { agent, services, thread } = caller;
  const { head, contextTokens, policy } = agent;
  if (!policy.pool.includes("TaskOutput")) return undefined;
  const limits = contextLimits({
    head,
    model: services.model.describe(),
    contextTokens,
    percent: services.compactAtPercent,
  });
  const usual = policy.pool.includes("Read") ? undefined : LONGEST_PART;
  if (limits === undefined) return usual;
  const { context, calls } = thread.state;
  const free = limits.compactAt - expectedTokens(context, limits, undefined);
  const share = Math.floor((free * CHARACTERS_PER_TOKEN) / Math.max(1, calls.length));
  return share >= LONGEST_PART ? usual : Math.max(SHORTEST_REPORT, share);
}
