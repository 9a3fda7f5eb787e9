import { findCall, withKnownFacts } from "../../loop/index.ts";
import type { ExecuteRequest } from "../../ports/index.ts";
import {
  type DurableEvent,
  type EventOf,
  type JsonObject,
  type Policy,
  type ReservedSpend,
  type ToolCall,
  type ToolResult,
  textResult,
} from "../../protocol/index.ts";
import { askHooks, callFacts } from "../host/ask-hooks.ts";
import { currentPolicy } from "../host/plan-mode.ts";
import type { RunHost } from "../host/run-host.ts";
import { orAbort } from "../or-abort.ts";
import { approveCall, decideCall, grantOf, type ReadCall } from "./decide-call.ts";
import { reviewTrespasses } from "./review-trespasses.ts";

/**
 * Performs the calls in one response. Adjacent calls that allow it run in parallel; all others run one at a time, in
 * order.
 */
export async function performCalls(host: RunHost, calls: readonly ToolCall[]): Promise<void> {
  const { services, outlet } = host;
  await orAbort(services.approvals.refresh?.() ?? Promise.resolve(), outlet.signal);
  let index = 0;
  while (index < calls.length) {
    const batch = [calls[index] as ToolCall];
    while (isParallel(host, batch[0]) && isParallel(host, calls[index + batch.length])) {
      batch.push(calls[index + batch.length] as ToolCall);
    }
    index += batch.length;
    await (batch.length === 1 ? performCall(host, batch[0] as ToolCall) : performInParallel(host, batch));
  }
}

/**
 * Number of parallel calls to start before other work gets a turn. There is another pause each time the number of
 * started calls has doubled, so that with hundreds of Task calls, the first agents can send their requests before the
 * last calls start.
 */
const FIRST_CALLS = 4;

/**
 * Performs calls in parallel. If one fails, waits for all other calls before it throws the first error, so that no call
 * continues after the host has given up.
 */
async function performInParallel(host: RunHost, batch: readonly ToolCall[]): Promise<void> {
  const failures: unknown[] = [];
  const running: Promise<void>[] = [];
  let pause = FIRST_CALLS;
  for (const [index, call] of batch.entries()) {
    if (index === pause) {
      await new Promise(setImmediate);
      pause += index;
    }
    running.push(performCall(host, call).catch((error: unknown) => void failures.push(error)));
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}

function isParallel(host: RunHost, call: ToolCall | undefined): boolean {
  return call !== undefined && host.services.executor.traits(call.name).parallel;
}

async function performCall(host: RunHost, made: ToolCall): Promise<void> {
  const { services, outlet, thread } = host;
  const policy = effectivePolicy(host);
  const startedAt = services.clock.monotonic();
  const { callId, name } = made;
  const ended = (result: ToolResult): Ended => {
    const milliseconds = Math.round(services.clock.monotonic() - startedAt);
    return { type: "tool.ended", callId, name, result, milliseconds };
  };
  /** Ends a call that was not started, or leaves it open for the next run if the session is being parked. */
  const endUnstarted = async (before: readonly DurableEvent[] = []): Promise<void> => {
    if (!isParked(host)) await host.record([...before, ended(notStarted)]);
  };
  if (outlet.signal.aborted) return endUnstarted();

  const known = findCall(thread.state, callId);
  // The call started before a restart and is resumed, so it needs no new decision or approval.
  if (known?.status === "started") {
    const grant = known.granted ? grantOf(made, known.replies) : undefined;
    return finish(host, { call: made }, ended(await executeReviewed(host, { call: made, grant })));
  }

  const decided = await decideCall(host, made, policy);
  let { call, input } = decided;
  const { requested } = decided;
  // Interrupted hooks have not decided anything.
  if (outlet.signal.aborted) return endUnstarted([requested]);
  if (decided.effect === "refused")
    return host.record([requested, ended(textResult(decided.outcome, decided.message))]);
  let { grant } = decided.effect === "allow" ? decided : {};
  const { effects, resumable } = services.executor.traits(name);
  const started: DurableEvent = { type: "tool.started", callId, resumable };
  if (decided.effect === "ask") {
    const approved = await approveCall(host, decided, policy);
    if (approved.kind === "cancelled") return endUnstarted();
    if (approved.kind === "refused") return host.record([ended(textResult(approved.outcome, approved.message))]);
    ({ call, input, grant } = approved);
    await host.record([started]);
  } else {
    await host.record([requested, started]);
  }
  // The record that the call has started must be on disk before the call changes anything.
  if (effects) await thread.sync();
  await finish(host, { call, input }, ended(await executeReviewed(host, { call, paths: input?.paths, grant })));
  // The next request may be sent during this sync. The next side effect waits for its own sync, which includes this
  // one.
  if (effects) thread.syncSoon();
}

type Ended = EventOf<"tool.ended">;

/** Records the result before PostToolUse hooks run, because hooks can take a long time. */
async function finish(host: RunHost, { call, input }: ReadCall, ended: Ended): Promise<void> {
  if (isParked(host) && staysOpen(host, ended)) return;
  const { milliseconds } = ended;
  const result = withKnownFacts(ended.result, findCall(host.thread.state, ended.callId));
  await host.record([{ ...ended, result }]);
  if (!host.services.hooks?.has("PostToolUse") || result.outcome === "denied" || result.outcome === "cancelled") return;
  const { callId, name } = call;
  const { outcome, content, details } = result;
  const response = { outcome, content: content as unknown as readonly JsonObject[], details };
  await askHooks(
    host,
    { event: "PostToolUse", callId, input, about: `PostToolUse hook on ${name}` },
    { ...callFacts(call), tool_response: response, duration_ms: milliseconds },
  );
}

function isParked({ outlet }: RunHost): boolean {
  return outlet.signal.aborted && outlet.cause() === "parked";
}

/**
 * Returns whether a call in a parked run is still open, because it continues in the next run, or because its worker,
 * which is unreachable now, may still finish it.
 */
function staysOpen({ services }: RunHost, { name, result: { outcome } }: Ended): boolean {
  return outcome === "unknown" || (outcome !== "ok" && services.executor.traits(name).resumable === true);
}

type Execution = Omit<ExecuteRequest, "agentId" | "policy">;

/** Runs a call. If the call uses a model itself, its cost is reserved first. */
async function execute(host: RunHost, request: Execution): Promise<ToolResult> {
  const { services, outlet, clocks } = host;
  const { takes } = services.executor.traits(request.call.name);
  if (takes === undefined) return executeWithTools(host, request);
  const resume = clocks.pause();
  const reserved = await services.budget.reserveInTurn({ ...takes, isCall: true }, outlet.signal).finally(resume);
  if (outlet.signal.aborted) {
    if (!reserved.refused) reserved.cancel();
    return notStarted;
  }
  if (reserved.refused)
    return textResult("error", `${reserved.cause} You can't raise this limit. Continue without this call.`);
  const spend: ReservedSpend = {
    inputTokens: takes.tokens,
    outputTokens: 0,
    costUsd: takes.usd,
  };
  await host.record([{ type: "spend.reserved", request: request.call.callId, reserved: spend }]);
  try {
    const result = await executeWithTools(host, request);
    if (result.facts?.spent) reserved.settle(result.facts.spent);
    return result;
  } finally {
    reserved.cancel();
  }
}

/** Runs a call, and reports changes to protected files that it was not permitted to make. */
async function executeReviewed(host: RunHost, request: Execution): Promise<ToolResult> {
  const result = await execute(host, request);
  return reviewTrespasses(host, { call: request.call, result, policy: effectivePolicy(host) });
}

/** Runs a call with the current policy, because plan mode may have started while the call was waiting for approval. */
function executeWithTools(host: RunHost, request: Execution): Promise<ToolResult> {
  const { services, outlet, thread } = host;
  const { callId } = request.call;
  const progress = (text: string): void => outlet.emit({ type: "tool.progressed", callId, text });
  const { agentId } = thread;
  return services.executor.execute({ agentId, policy: effectivePolicy(host), ...request }, progress, outlet.signal);
}

function effectivePolicy(host: RunHost): Policy {
  return host.services.approvals.policyFor(currentPolicy(host));
}

const notStarted = textResult("cancelled", "Cancelled before it started: the run was stopped.");
