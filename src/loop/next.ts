import type { DurableEvent, EndReason, ToolCall } from "../protocol/index.ts";
import type { LoopState, Telling } from "./state.ts";

/** What the host has to do now. Performing it makes events; folding them makes the next operation. */
export type Operation =
  | { readonly kind: "request"; readonly turn: number }
  | { readonly kind: "act"; readonly calls: readonly ToolCall[] }
  | { readonly kind: "tell"; readonly telling: Telling }
  | { readonly kind: "end"; readonly reason: EndReason; readonly message?: string }
  /** No run is under way. */
  | { readonly kind: "rest" };

export function next(state: LoopState): Operation {
  const { run } = state;
  if (run === undefined) return { kind: "rest" };
  const open = state.calls.filter((call) => call.status === "new" || call.status === "asked");
  if (run.ending && open.length === 0) return { kind: "end", ...run.ending };
  if (open.length > 0) return { kind: "act", calls: open.map(({ call }) => call) };
  if (state.toTell) return { kind: "tell", telling: state.toTell };
  const somethingToSay = state.calls.length > 0 || state.said.length > 0 || state.unanswered;
  if (!somethingToSay) return { kind: "end", reason: "done" };
  if (run.turns >= run.maxTurns) return { kind: "end", reason: "max_turns", message: turnLimitMessage(run.maxTurns) };
  return { kind: "request", turn: state.turn + 1 };
}

/** What must be written about a run that its process did not live to end. */
export function recovery(state: LoopState): readonly DurableEvent[] {
  if (state.run === undefined) return [];
  const { runId, turns, usage, costUsd, modelMilliseconds, facts, text } = state.run;
  const begun = state.calls.filter((call) => call.status === "started");
  const unknown = begun.map(
    ({ call }): DurableEvent => ({
      type: "tool.ended",
      callId: call.callId,
      name: call.name,
      result: { outcome: "unknown", content: [{ type: "text", text: UNKNOWN_OUTCOME }] },
      milliseconds: 0,
    }),
  );
  return [
    ...unknown,
    {
      type: "run.ended",
      runId,
      outcome: "failed",
      reason: "process_lost",
      message: "The process ended before the run did. Everything it recorded is here; resume the session to go on.",
      text,
      turns,
      usage,
      ...(costUsd === undefined ? {} : { costUsd }),
      milliseconds: 0,
      modelMilliseconds,
      facts: { ...facts, unknown: [...facts.unknown, ...begun.map(({ call }) => call.callId)] },
    },
  ];
}

const UNKNOWN_OUTCOME =
  "Outcome unknown: this call was begun and the process ended before its result was recorded. It may or may not have had its effect. Check before you repeat it.";

function turnLimitMessage(maxTurns: number): string {
  return `Stopped after ${maxTurns} ${maxTurns === 1 ? "turn" : "turns"}, the limit of this run. Resume the session to go on, or raise --max-turns.`;
}
