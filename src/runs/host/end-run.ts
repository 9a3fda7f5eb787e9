import { describeError, errorCode, formatDuration } from "../../lib/index.ts";
import { type Ending, factsBefore, factsOf, unknownResults, withEarlier } from "../../loop/index.ts";
import { addFacts, type EventOf, noUsage, outcomeOf, type RunResult } from "../../protocol/index.ts";
import { acceptanceAtEnd } from "../acceptance/verify-work.ts";
import { endingOf } from "../budget/budget-text.ts";
import type { StopCause } from "./run.ts";
import type { RunHost } from "./run-host.ts";

export async function endRun(host: RunHost, ending: Ending): Promise<RunResult> {
  const event = runEnded(host, ending);
  const result = resultOf(host, event);
  await host.record([event]);
  await host.thread.sync();
  return result;
}

/** Ends the run, unless a message has just arrived. In that case, the run continues, and undefined is returned. */
export async function endUnlessPrompted(host: RunHost, ending: Ending): Promise<RunResult | undefined> {
  const isDone = ending.reason === "done";
  // An agent that was not allowed to start a subagent has not done all of its work.
  const cut = isDone && host.spawnRefusal;
  const event = runEnded(host, cut ? endingOf(cut) : ending);
  const result = resultOf(host, event);
  const mayEnd = ({ said }: { readonly said: readonly unknown[] }) => !isDone || said.length === 0;
  if (!(await host.recordIf(mayEnd, [event]))) return undefined;
  await host.thread.sync();
  return result;
}

export function endStopped(host: RunHost): Promise<RunResult> {
  const reason = host.outlet.cause();
  const { timeRefusal } = host;
  return endRun(host, reason === "budget" && timeRefusal ? endingOf(timeRefusal) : stoppedEnding(host, reason));
}

/** Ends the run after a bug or a journal failure. The end is reported even if it can't be recorded. */
export async function endAfterError(host: RunHost, error: unknown): Promise<RunResult> {
  const reason = errorCode(error) === undefined ? "internal_error" : "journal_error";
  const ending: Ending = { reason, message: describeError(error) };
  try {
    const unknown = unknownResults(host.thread.state);
    if (unknown.length > 0) await host.record(unknown);
    const event = runEnded(host, ending);
    const result = resultOf(host, event);
    await host.record([event]);
    return result;
  } catch {
    const event = runEnded(host, ending);
    host.outlet.emit({ v: 1, id: "unrecorded", parentId: null, at: host.services.clock.now(), ...event });
    return resultOf(host, event);
  }
}

function runEnded(host: RunHost, ending: Ending): EventOf<"run.ended"> {
  const { thread, request, services, startedAt } = host;
  const { run } = thread.state;
  return {
    type: "run.ended",
    runId: request.runId,
    outcome: outcomeOf(ending.reason),
    ...ending,
    text: run?.text ?? "",
    turns: run?.turns ?? 0,
    usage: run?.usage ?? noUsage,
    costUsd: run?.costUsd,
    milliseconds: Math.round(services.clock.monotonic() - startedAt),
    modelMilliseconds: run?.modelMilliseconds ?? 0,
    facts: factsOf(thread.state),
    acceptance: acceptanceAtEnd(host, ending.reason),
  };
}

/**
 * Returns the result of a run, before its end is recorded. It includes what the runs did that the run continues: for a
 * subagent, everything that its caller has not been told; for the main agent, the facts, because its numbers are those
 * of this run, and also the facts about lost work on earlier prompts, which no result has reported.
 */
function resultOf({ services, thread, request }: RunHost, { type: _, ...end }: EventOf<"run.ended">): RunResult {
  const { work } = thread.state;
  const before = factsBefore(work);
  const facts = before ? addFacts(before, end.facts) : end.facts;
  const total = request.subagent ? withEarlier(end, work.done) : { ...end, facts };
  return { ...total, sessionId: services.sessionId, agentId: thread.agentId, model: request.agent.head.model };
}

function stoppedEnding({ services: { model, limits } }: RunHost, cause: StopCause): Ending {
  const message = "The run was stopped. Its work is kept, and it can be resumed.";
  if (cause === "stopped_by_person") return { reason: "stopped", message, stoppedBy: "person" };
  const reason = cause;
  const atLimit = (limit: string, remedy: string): Ending => ({
    reason,
    message: `${limit} ${remedy}`,
    limit: { cause: limit },
  });
  if (reason === "stall") {
    const { provider, model: name } = model.describe();
    const cause = `The model (${provider}, ${name}) sent nothing for ${formatDuration(limits.idleMs)}.`;
    return atLimit(cause, "Resume to continue, or allow more time with subagents.idleSeconds in your settings.");
  }
  if (reason === "timeout") return atLimit("The run reached its time limit.", "Resume the session to continue.");
  if (reason === "stopped") return { reason, message };
  if (reason === "parked")
    return { reason, message: "The session was parked. The run continues when the session is resumed." };
  return { reason, message: "The run was interrupted. Resume the session to continue." };
}
