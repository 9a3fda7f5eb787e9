import type { CallId, DurableEvent, EventOf, ToolCall, ToolResult } from "../protocol/index.ts";
import { withKnownFacts } from "./call-effects.ts";
import { type CallState, findCall } from "./call-state.ts";
import { type ContextLimits, isFull } from "./context.ts";
import { fold, userTurn } from "./fold.ts";
import { type Ending, factsOf, type LoopState, type PendingMessage, turnsLeft } from "./state.ts";
import { chargeOf } from "./under-way.ts";

/** Operation that the host must perform next. It produces events; folding them leads to the next operation. */
export type Operation =
  | { readonly kind: "request"; readonly turn: number }
  | { readonly kind: "act"; readonly calls: readonly ToolCall[] }
  /** Adds a message from the runtime to the conversation. */
  | { readonly kind: "notify"; readonly message: PendingMessage }
  /**
   * Compacts the conversation, because the next request would not fit or the provider rejected the last one as too
   * long.
   */
  | { readonly kind: "compact"; readonly cause: "full" | "overflow" }
  /** Waits for background agents, because only they are still working or because the user wants their reports first. */
  | { readonly kind: "wait" }
  | ({ readonly kind: "end" } & Ending)
  /** Does nothing, because no run is in progress. */
  | { readonly kind: "rest" };

/** Returns the next operation. Without limits, the conversation is never compacted. */
export function next(state: LoopState, limits?: ContextLimits): Operation {
  const { run } = state;
  if (run === undefined) return { kind: "rest" };
  const open = state.calls.filter(isOpen);
  if (run.ending && open.length === 0) return { kind: "end", ...run.ending };
  if (open.length > 0) return { kind: "act", calls: open.map(({ call }) => call) };
  if (state.toTell) return { kind: "notify", message: state.toTell };
  if (state.awaited.length > 0) return { kind: "wait" };
  const hasInput = state.calls.length > 0 || state.said.length > 0 || state.unanswered;
  if (!hasInput) return run.waits && state.background.length > 0 ? { kind: "wait" } : { kind: "end", reason: "done" };
  if (turnsLeft(run) === 0) return { kind: "end", reason: "max_turns", ...turnLimit(run.maxTurns) };
  const { overflow } = state.context;
  if (overflow !== undefined) {
    return limits
      ? { kind: "compact", cause: "overflow" }
      : { kind: "end", reason: "context_overflow", message: overflow };
  }
  // Before the first request, there is nothing to compact.
  if (limits && state.turn > 0 && isFull(state.context, limits, userTurn(state)))
    return { kind: "compact", cause: "full" };
  return { kind: "request", turn: state.turn + 1 };
}

/** Returns whether the call must still be performed, because it was not started or can be resumed. */
function isOpen(call: CallState): boolean {
  return call.status === "new" || call.status === "asked" || (call.status === "started" && isResumable(call));
}

/**
 * Returns whether a started call can be resumed. A call that started an agent can, because the agent has the result or
 * is still working on it.
 */
function isResumable({ agentId, resumable }: CallState): boolean {
  return agentId !== undefined || resumable === true;
}

/** Known outcomes of calls whose results were not recorded. `never begun`: the call had no effect. */
export type RecalledCalls = ReadonlyMap<CallId, ToolResult | "never begun">;

/** Returns the events that end a run whose process was lost, along with the calls that the run had started. */
export function recovery(state: LoopState, recalled?: RecalledCalls): readonly DurableEvent[] {
  const ended = unknownResults(state, recalled);
  const charged = lostRequests(state);
  if (state.run === undefined) return [...charged, ...ended];
  const { run = state.run } = charged.reduce(fold, state);
  const { runId, turns, usage, costUsd, modelMilliseconds, text } = run;
  return [
    ...charged,
    ...ended,
    {
      type: "run.ended",
      runId,
      outcome: "failed",
      reason: "process_lost",
      message: lostMessage(charged.length > 0),
      text,
      turns,
      usage,
      costUsd,
      milliseconds: 0,
      modelMilliseconds,
      facts: factsOf(ended.reduce(fold, state)),
    },
  ];
}

function lostMessage(isCharged: boolean): string {
  const charged = isCharged ? " Requests whose responses were lost are counted at their maximum cost." : "";
  return `The process ended before the run did.${charged} Everything that was recorded is kept. Resume the session to continue.`;
}

/**
 * Returns the charge for requests without a recorded response. They may have been answered and billed, so their
 * reserved amounts are charged.
 */
function lostRequests({ underWay }: LoopState): readonly DurableEvent[] {
  return underWay.length === 0 ? [] : [{ type: "spend.recorded", ...chargeOf(underWay), estimated: true }];
}

/** Returns the calls that were started and whose results were not recorded. */
export function startedCalls(state: LoopState): readonly ToolCall[] {
  return state.calls.filter((call) => call.status === "started" && !isResumable(call)).map(({ call }) => call);
}

/** Returns events that end every call that was started. The outcome of calls that were not recalled is unknown. */
export function unknownResults(state: LoopState, recalled?: RecalledCalls): readonly EventOf<"tool.ended">[] {
  return startedCalls(state).map(({ callId, name }) => {
    const known = recalled?.get(callId);
    const result =
      known === "never begun" ? neverBegun : withKnownFacts(known ?? unknownOutcome, findCall(state, callId));
    return { type: "tool.ended", callId, name, result, milliseconds: 0 };
  });
}

const neverBegun: ToolResult = {
  outcome: "cancelled",
  content: [{ type: "text", text: "The run was interrupted before this call began. The call had no effect." }],
};

const unknownOutcome: ToolResult = {
  outcome: "unknown",
  content: [
    {
      type: "text",
      text: "Outcome unknown: the run was interrupted after this call was started and before its result was recorded. The call may or may not have taken effect. Check before you repeat it.",
    },
  ],
};

function turnLimit(maxTurns: number): Pick<Ending, "message" | "limit"> {
  const cause = `Stopped after ${maxTurns} ${maxTurns === 1 ? "turn" : "turns"}, the limit for this run.`;
  return { message: `${cause} Resume the session to continue, or raise the \`maxTurns\` option.`, limit: { cause } };
}
