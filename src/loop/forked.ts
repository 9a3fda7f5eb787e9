import type { CallId, ForkOrigin, ToolResult, ToolResultBlock } from "../protocol/index.ts";
import type { CallState } from "./call-state.ts";
import type { LoopState } from "./state.ts";

/** A fork stands where its origin's calls are under way; what becomes of them is not its business. */
export function forked(state: LoopState, { calls, tokens }: ForkOrigin): LoopState {
  return {
    ...state,
    calls: waitingFor(calls),
    context: tokens === undefined ? state.context : { ...state.context, tokens, basis: "estimate" },
  };
}

/** What a user turn says of calls, in their order. */
export function resultBlocks(calls: readonly CallState[]): readonly ToolResultBlock[] {
  return placeholders.get(calls) ?? calls.map(resultBlock);
}

/** The same for every call of every fork, so that siblings share its bytes too. */
const atWork: ToolResult = { outcome: "ok", content: [{ type: "text", text: "[forked]" }] };

/** By the ids they are made of, and what is said of them: a hundred siblings of a hundred calls have them once. */
const callsOfForks = new WeakMap<readonly CallId[], readonly CallState[]>();
const placeholders = new WeakMap<readonly CallState[], readonly ToolResultBlock[]>();

function waitingFor(ids: readonly CallId[]): readonly CallState[] {
  const known = callsOfForks.get(ids);
  if (known !== undefined) return known;
  const calls = ids.map(
    (callId): CallState => ({ call: { callId, name: "", inputJson: "{}" }, status: "ended", result: atWork }),
  );
  callsOfForks.set(ids, calls);
  placeholders.set(calls, calls.map(resultBlock));
  return calls;
}

function resultBlock({ call, result }: CallState): ToolResultBlock {
  return {
    type: "tool_result",
    callId: call.callId,
    content: result?.content ?? [],
    isError: result?.outcome !== "ok",
  };
}
