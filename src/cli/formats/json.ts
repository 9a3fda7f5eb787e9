import type { CacheFigures, CacheReport } from "../../app/index.ts";
import type { AgentView } from "../../client/index.ts";
import {
  callsOf,
  type EndReason,
  noFacts,
  noUsage,
  type RunResult,
  type RunUpdate,
  type StopReason,
  type Usage,
} from "../../protocol/index.ts";
import { withFlags } from "../output.ts";
import { acceptanceFailure } from "../print/closing-message.ts";
import type { AgentViews } from "../progress/agent-views.ts";
import type { Failure, Format } from "./format.ts";
import { parsed, wireStopReason, wireUsage } from "./wire-blocks.ts";

/** Prints one object at the end, on one line. */
export function createJsonFormat(agents: AgentViews): Format {
  const collector = createResultCollector(agents);
  let sessionId: string | null = null;
  return {
    opened: (session) => {
      sessionId = session.id;
      return "";
    },
    update: (update) => {
      collector.observe(update);
      return "";
    },
    result: (result, cache) => `${JSON.stringify(collector.resultObject(result, cache))}\n`,
    failure: (failure) => `${JSON.stringify(failureObject(failure, sessionId))}\n`,
  };
}

interface ResultCollector {
  observe(update: RunUpdate): void;
  /**
   * Returns the last line of a stream, which is also the only line that the `json` format prints: compatible fields
   * first, then Retinue's own.
   */
  resultObject(result: RunResult, cache: CacheReport | undefined): object;
}

interface Denial {
  readonly tool_name: string;
  readonly tool_use_id: string;
  readonly tool_input: unknown;
  readonly message: string;
}

/** Collects the data that the result object needs but the run's own result does not contain. */
export function createResultCollector(agents: AgentViews): ResultCollector {
  const inputs = new Map<string, string>();
  const denials: Denial[] = [];
  let stopReason: StopReason | undefined;
  let provider: string | undefined;
  return {
    observe: (update) => {
      if (update.type === "run.started") provider = update.provider;
      if (update.type === "model.ended") {
        stopReason = update.stopReason;
        for (const { callId, inputJson } of callsOf(update.message)) inputs.set(callId, inputJson);
      }
      if (update.type !== "tool.ended") return;
      const input = parsed(inputs.get(update.callId) ?? "null");
      inputs.delete(update.callId);
      if (update.result.outcome !== "denied") return;
      const [reason] = update.result.content;
      denials.push({
        tool_name: update.name,
        tool_use_id: update.callId,
        tool_input: input,
        message: reason?.type === "text" ? reason.text : "",
      });
    },
    resultObject: (result, cache) => {
      const { outcome, reason, acceptance } = result;
      const views = agents.inOrder();
      const totals = totalsOf(result, views);
      const failure = failureOf(result);
      return {
        type: "result",
        subtype: failure === undefined ? "success" : (errorSubtypes[reason] ?? "error_during_execution"),
        is_error: failure !== undefined,
        duration_ms: result.milliseconds,
        duration_api_ms: result.modelMilliseconds,
        num_turns: result.turns,
        result: result.text,
        errors: failure === undefined ? undefined : [withFlags(failure)],
        stop_reason: stopReason === undefined ? null : wireStopReason(stopReason),
        session_id: result.sessionId,
        total_cost_usd: totals.costUsd,
        usage: wireUsage(result.usage),
        modelUsage: totals.modelUsage,
        permission_denials: denials,
        terminal_reason: reason === "done" ? "completed" : reason,
        outcome,
        reason,
        message: result.message,
        verified: acceptance?.ok,
        acceptance,
        model: result.model,
        provider: provider ?? null,
        cost_known: totals.isCostKnown,
        run_id: result.runId,
        facts: result.facts,
        agents: agentObjects(views, cache),
        cache: cacheObject(cache?.total),
      };
    },
  };
}

/** Explains why the run did not succeed; undefined if it did. */
function failureOf({ outcome, reason, message, acceptance }: RunResult): string | undefined {
  if (outcome !== "succeeded") return message ?? `The run ended: ${reason}.`;
  return acceptance?.ok === false ? acceptanceFailure(acceptance) : undefined;
}

const errorSubtypes: Partial<Record<EndReason, string>> = {
  max_turns: "error_max_turns",
  budget: "error_max_budget_usd",
};

function agentObjects(agents: readonly AgentView[], cache: CacheReport | undefined): readonly object[] {
  const figures = new Map(cache?.agents.map((one) => [one.agentId, one]));
  return agents.map((agent) => ({
    id: agent.agentId,
    type: agent.agentType,
    description: agent.description,
    parent: agent.path.at(-2) ?? "main",
    tool_use_id: agent.callId ?? null,
    background: agent.background,
    model: agent.model,
    outcome: agent.end?.outcome ?? null,
    reason: agent.end?.reason ?? null,
    message: agent.end?.message,
    turns: agent.turns,
    toolCalls: agent.toolCalls,
    usage: wireUsage(agent.usage),
    costUsd: agent.costUsd ?? null,
    denied: agent.denied,
    filesChanged: agent.filesChanged,
    commands: agent.commands,
    duration_ms: agent.end?.milliseconds ?? null,
    cache: cacheObject(figures.get(agent.agentId)),
  }));
}

function cacheObject(figures: CacheFigures | undefined): object | undefined {
  if (figures === undefined) return undefined;
  const { requests, usage, idealReadTokens, baseTokens, usd } = figures;
  const { outputTokens: _, ...input } = usage;
  return { requests, ...input, idealReadTokens, baseTokens, usd };
}

interface Totals {
  /** Sum of the known costs. */
  readonly costUsd: number;
  readonly isCostKnown: boolean;
  readonly modelUsage: Readonly<Record<string, ModelUsage>>;
}

interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly cacheCreationInputTokens: number;
  readonly costUSD: number;
}

/** Adds up the usage and cost of the run and its subagents. */
function totalsOf({ model, usage, costUsd }: RunResult, agents: readonly AgentView[]): Totals {
  const modelUsage: Record<string, ModelUsage> = {};
  for (const part of [{ model, usage, costUsd }, ...agents]) {
    // An agent that ended before its first request has not used a model.
    if (part.model === "") continue;
    modelUsage[part.model] = added(modelUsage[part.model], part);
  }
  const costs = [costUsd, ...agents.map((agent) => agent.costUsd)];
  return {
    costUsd: costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0),
    isCostKnown: !costs.includes(undefined),
    modelUsage,
  };
}

function added(
  before: ModelUsage | undefined,
  { usage, costUsd }: { readonly usage: Usage; readonly costUsd: number | undefined },
): ModelUsage {
  return {
    inputTokens: (before?.inputTokens ?? 0) + usage.inputTokens,
    outputTokens: (before?.outputTokens ?? 0) + usage.outputTokens,
    cacheReadInputTokens: (before?.cacheReadInputTokens ?? 0) + usage.cacheReadTokens,
    cacheCreationInputTokens: (before?.cacheCreationInputTokens ?? 0) + usage.cacheWriteTokens,
    costUSD: (before?.costUSD ?? 0) + (costUsd ?? 0),
  };
}

/** Returns a result object for a failure outside a run. */
export function failureObject({ message, code }: Failure, sessionId: string | null): object {
  return {
    type: "result",
    subtype: "error_during_execution",
    is_error: true,
    duration_ms: 0,
    duration_api_ms: 0,
    num_turns: 0,
    result: "",
    errors: [message],
    stop_reason: null,
    session_id: sessionId,
    total_cost_usd: 0,
    usage: wireUsage(noUsage),
    modelUsage: {},
    permission_denials: [],
    terminal_reason: code,
    outcome: code === "interrupted" ? "stopped" : "failed",
    reason: code,
    message,
    model: null,
    provider: null,
    cost_known: false,
    run_id: null,
    facts: noFacts,
    agents: [],
  };
}
