import { expectedTokens } from "../../loop/index.ts";
import type { Tool, ToolContext, ToolOutput, ToolSpec } from "../../ports/index.ts";
import { type AgentId, isSameAgent, type JsonObject, MAIN_AGENT } from "../../protocol/index.ts";
import { contextLimits } from "../compaction/context-limits.ts";
import type { LiveAgent } from "../host/run-host.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { endedNotice, type SpawnOutcome, type SpawnRequest, type SubagentResult } from "../subagents/subagent.ts";
import {
  LONGEST_REPORT,
  launchedText,
  refusalText,
  resultText,
  totalsOf,
  wordsWithin,
} from "../subagents/task-text.ts";
import { forkBounds, readRequest, textIn } from "./task-input.ts";

/** Its agent has clocks of its own. */
const noLimit = Number.MAX_SAFE_INTEGER;

export function createTask(dispatcher: Dispatcher): Omit<Tool, keyof ToolSpec> {
  return {
    timeoutMs: () => noLimit,
    abortGraceMs: 5_000,
    maxCharacters: LONGEST_REPORT,
    run: async (input, context) => {
      const request = readRequest(input, dispatcher.mayFork);
      const { agentType } = request;
      const call = { request, input, context };
      if (request.prompt.trim() === "")
        return refused(agentType, "prompt is empty: say what to do, where, and what to report.");
      const resume = textIn(input, "resume");
      if (resume !== undefined) return resumeAgent(dispatcher, { ...call, resume });
      if (agentType === "") {
        return refused("", `subagent_type is missing. There are ${dispatcher.offered().join(", ")}.`);
      }
      const mistake = mistakeIn(input, request);
      if (mistake !== undefined) return refused(agentType, mistake);
      const objection = await objectionTo(namesOf(agentType, dispatcher.offered()), call);
      if (objection !== undefined) return refused(agentType, objection);
      return present(await dispatcher.spawn(request, context), { request, room: roomFor(dispatcher, context) });
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
  const subagent = await registry.find(resume, context.agentId);
  if (subagent === undefined) return refused(request.agentType, await unknownId(dispatcher, resume, context.agentId));
  const { agentId, agentType } = subagent;
  if (request.agentType !== "" && !isSameAgent(request.agentType, agentType))
    return refused(
      request.agentType,
      `Agent ${agentId} is of the type ${agentType}. Resume it as that, or leave subagent_type out.`,
    );
  if (registry.isRunning(agentId)) return refused(agentType, stillRunning(agentId, registry.isWaitedFor(agentId)));
  if (subagent.fork?.kind === "fork" && request.model !== undefined) return refused(agentType, noModel);
  if (request.isolation !== undefined && subagent.isolation === undefined)
    return refused(
      agentType,
      `Agent ${agentId} goes on where it worked before. Leave isolation out, or start another.`,
    );
  const bound = boundIn(input);
  if (bound !== undefined)
    return refused(agentType, `${bound} is for a new fork: this one goes on with what it was given. Leave it out.`);
  const objection = await objectionTo([agentType], { input, context });
  if (objection !== undefined) return refused(agentType, objection);
  const outcome = await dispatcher.resume(agentId, request, context);
  return present(outcome, { request: { ...request, agentType }, room: roomFor(dispatcher, context) });
}

function stillRunning(agentId: AgentId, isWaitedFor: boolean): string {
  const cure = isWaitedFor ? "Its report comes by itself." : "Use SendMessage to tell it something.";
  return `Agent ${agentId} is still running. ${cure}`;
}

/** Words that mean nothing for what is asked for; to pass them over would be to do something else. */
function mistakeIn(input: JsonObject, { fork, model, isolation }: SpawnRequest): string | undefined {
  if (fork === undefined) {
    const bound = boundIn(input);
    return bound && `${bound} is for forks: leave it out, or leave subagent_type out.`;
  }
  if (model !== undefined) return noModel;
  if (isolation !== undefined)
    return "A fork works where its conversation was held: leave isolation out, or name a subagent_type.";
  return undefined;
}

function boundIn(input: JsonObject): string | undefined {
  return forkBounds.find((name) => input[name] !== undefined && input[name] !== null);
}

const noModel =
  "A fork goes on with the model of its conversation: leave model out, or name a subagent_type that may have another.";

function roomFor(dispatcher: Dispatcher, { agentId }: ToolContext): number | undefined {
  const caller = dispatcher.registry.live.get(agentId);
  return caller && reportRoom(caller);
}

/** The gate judged what `subagent_type` says. What a rule says about an agent by another name still counts. */
async function objectionTo(
  names: readonly string[],
  { input, context }: Pick<TaskCall, "input" | "context">,
): Promise<string | undefined> {
  const judged = String(input["subagent_type"] ?? "");
  for (const agentType of names.filter((name) => !isSameAgent(name, judged))) {
    const { effect, rule, reason } = await context.authorize({ kind: "agent", agentType });
    if (effect === "deny") return reason;
    // A rule about the whole tool was asked about already.
    if (effect === "ask" && rule.includes("("))
      return `The rule ${rule} asks first. Call it with subagent_type: "${agentType}", so that somebody can be asked.`;
  }
  return undefined;
}

/** Agents of plugins answer to their bare name too. */
function namesOf(agentType: string, offered: readonly string[]): readonly string[] {
  const ending = `:${agentType.toLowerCase()}`;
  return [agentType, ...offered.filter((name) => name.toLowerCase().endsWith(ending))];
}

/** The valid choices are named: an agent can reach those that it or its own have started. */
export async function unknownId(dispatcher: Dispatcher, id: string, caller: AgentId): Promise<string> {
  const agents = await dispatcher.registry.all(caller);
  if (agents.length === 0 && caller !== MAIN_AGENT) return `There is no agent ${id} among yours: you started none.`;
  if (agents.length === 0) return `There is no agent ${id} in this session: none was started.`;
  const newest = agents.slice(-10).reverse();
  const known = newest.map(({ agentId, agentType, description }) => `${agentId} (${agentType}: ${description})`);
  const more = agents.length > newest.length ? ` and ${agents.length - newest.length} older ones` : "";
  const where = caller === MAIN_AGENT ? "in this session" : "among yours";
  return `There is no agent ${id} ${where}. There are ${known.join(", ")}${more}.`;
}

function present(
  outcome: SpawnOutcome,
  { request, room }: { readonly request: SpawnRequest; readonly room: number | undefined },
): ToolOutput {
  if (outcome.status === "refused") return refused(request.agentType, outcome.message);
  const entry = outcome.isFork ? { entry: "sub_agent_entered" } : {};
  if (outcome.status === "launched") {
    const { notice, outputFile } = outcome;
    const { agentId } = notice;
    const { description, prompt } = request;
    const where = outputFile === undefined ? {} : { outputFile };
    return {
      content: launchedText({ agentId, outputFile }),
      details: { status: "async_launched", ...entry, agentId, description, prompt, ...where },
      facts: { launched: notice },
    };
  }
  const told = report(outcome.result, room);
  return { ...told, details: { ...told.details, ...entry } };
}

function report(run: SubagentResult, room: number | undefined): ToolOutput {
  const { end, agentId, agentType, worktree } = run;
  const totals = totalsOf(end);
  const isError = end.outcome === "failed" || end.outcome === "stopped";
  return {
    content: room === undefined ? resultText(run) : resultText(run, wordsWithin(run, room)),
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
      ...(worktree ? { worktreePath: worktree.path, worktreeBranch: worktree.branch } : {}),
      ...(end.acceptance ? { verified: end.acceptance.ok } : {}),
    },
    facts: {
      filesChanged: end.facts.filesChanged,
      agent: endedNotice(run),
    },
  };
}

function refused(agentType: string, message: string): ToolOutput {
  return { content: refusalText(agentType, message), isError: true, details: { status: "refused" } };
}

/** Cautious, so that what fits by this fits. */
const CHARACTERS_PER_TOKEN = 3;
/** Enough for how a report begins and ends. */
const LEAST = 400;
/** With what the runtime says behind it, still within what the executor lets pass. */
const MOST = LONGEST_REPORT - 2_000;

/**
 * Characters that one report may have: the calls of one answer share what is left of their caller's window. Undefined
 * for the usual length, at which the executor keeps the whole for Read; anything else only where TaskOutput can show the rest.
 */
function reportRoom({ agent, services, thread: { state } }: LiveAgent): number | undefined {
  const { head, contextTokens, policy } = agent;
  if (!policy.pool.includes("TaskOutput")) return undefined;
  const limits = contextLimits({
    head,
    model: services.model.describe(),
    contextTokens,
    percent: services.compactAtPercent,
  });
  const usual = policy.pool.includes("Read") ? undefined : MOST;
  if (limits === undefined) return usual;
  const free = limits.compactAt - expectedTokens(state.context, limits, undefined);
  const share = Math.floor((free * CHARACTERS_PER_TOKEN) / Math.max(1, state.calls.length));
  return share >= MOST ? usual : Math.max(LEAST, share);
}
