import type { CacheReport } from "../../app/index.ts";
import { type EndReason, noFacts, noUsage, type RunResult } from "../../protocol/index.ts";
import { unverifiedWords } from "../print/unverified-words.ts";
import type { AgentView } from "../progress/agent-view.ts";
import { agentObjects, cacheObject, totalsOf } from "./agent-objects.ts";
import type { Failure } from "./format.ts";
import { wireStopReason, wireUsage } from "./wire-blocks.ts";
import type { Witness } from "./witness.ts";

export interface Seen {
  readonly witness: Witness;
  readonly agents: readonly AgentView[];
  readonly cache: CacheReport | undefined;
}

/** The last line of a stream and the whole of `json`: the fields others read, then our own. */
export function resultObject(result: RunResult, { witness, agents, cache }: Seen): Record<string, unknown> {
  const { outcome, reason, usage, acceptance } = result;
  const totals = totalsOf(result, agents);
  const failure = failureOf(result);
  const isError = failure !== undefined;
  return {
    type: "result",
    subtype: isError ? (errorSubtypes[reason] ?? "error_during_execution") : "success",
    is_error: isError,
    duration_ms: result.milliseconds,
    duration_api_ms: result.modelMilliseconds,
    num_turns: result.turns,
    result: result.text,
    ...(isError ? { errors: [failure] } : {}),
    stop_reason: witness.stopReason === undefined ? null : wireStopReason(witness.stopReason),
    session_id: result.sessionId,
    total_cost_usd: totals.costUsd,
    usage: wireUsage(usage),
    modelUsage: totals.modelUsage,
    permission_denials: witness.denials,
    terminal_reason: reason === "done" ? "completed" : reason,
    outcome,
    reason,
    ...(result.message === undefined ? {} : { message: result.message }),
    ...(acceptance === undefined || outcome !== "succeeded" ? {} : { verified: acceptance.ok, acceptance }),
    model: result.model,
    provider: witness.provider ?? null,
    cost_known: totals.isCostKnown,
    run_id: result.runId,
    facts: result.facts,
    agents: agentObjects(agents, cache),
    ...(cache ? { cache: cacheObject(cache.total) } : {}),
  };
}

/** In words, why it is no success. */
function failureOf({ outcome, reason, message, acceptance }: RunResult): string | undefined {
  if (outcome !== "succeeded") return message ?? `The run ended: ${reason}.`;
  return acceptance?.ok === false ? unverifiedWords(acceptance) : undefined;
}

const errorSubtypes: Partial<Record<EndReason, string>> = {
  max_turns: "error_max_turns",
  budget: "error_max_budget_usd",
};

/** The same shape where there was no run. */
export function failureObject({ message, code }: Failure, sessionId: string | null): Record<string, unknown> {
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
