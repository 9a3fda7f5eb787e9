import { canonicalToolName, type ToolCall, type ToolResult, textOf } from "../protocol/index.ts";

/** The same call with the same result, so many times since something else changed the world. */
export interface Repetition {
  readonly call: ToolCall;
  readonly result: ToolResult;
  readonly count: number;
}

export const WARN_AT = 3;
export const END_AT = 5;

/** Older calls are forgotten: a loop shows within a few turns. */
const REMEMBERED = 16;
/** Asking again is what these are for. */
const exempt = new Set(["BashOutput", "TaskOutput", "TodoWrite"]);

/** Adds a call to what is remembered; the newest entry is the one it counted. */
export function remember(
  past: readonly Repetition[],
  call: ToolCall,
  result: ToolResult,
): { readonly repetitions: readonly Repetition[]; readonly count: number } {
  if (exempt.has(canonicalToolName(call.name))) return { repetitions: past, count: 0 };
  if ((result.facts?.filesChanged?.length ?? 0) > 0) return { repetitions: [], count: 0 };
  const at = past.findIndex((entry) => entry.call.inputJson === call.inputJson && entry.call.name === call.name);
  const before = past[at];
  const count = before && sameResult(before.result, result) ? before.count + 1 : 1;
  const others = before ? past.filter((_, index) => index !== at) : past.slice(1 - REMEMBERED);
  return { repetitions: [...others, { call, result, count }], count };
}

function sameResult(left: ToolResult, right: ToolResult): boolean {
  return left.outcome === right.outcome && textOf(left.content) === textOf(right.content);
}
