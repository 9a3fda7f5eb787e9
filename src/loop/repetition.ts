import { type ToolCall, type ToolResult, textOf } from "../protocol/index.ts";

/** The same call with the same result, so many times since something else changed the world. */
export interface Repetition {
  readonly call: string;
  readonly result: string;
  readonly count: number;
}

export const WARN_AT = 3;
export const END_AT = 5;

/** Older calls are forgotten: a loop shows within a few turns. */
const REMEMBERED = 32;
/** Asking again is what these are for. */
const exempt = new Set(["BashOutput", "TaskOutput", "TodoWrite"]);

/** Adds a call to what is remembered; the newest entry is the one it counted. */
export function remember(
  past: readonly Repetition[],
  call: ToolCall,
  result: ToolResult,
): { readonly repetitions: readonly Repetition[]; readonly count: number } {
  if (exempt.has(call.name)) return { repetitions: past, count: 0 };
  if ((result.facts?.filesChanged?.length ?? 0) > 0) return { repetitions: [], count: 0 };
  const key = `${call.name} ${call.inputJson}`;
  const told = `${result.outcome} ${textOf(result.content)}`;
  const before = past.find((entry) => entry.call === key);
  const count = before?.result === told ? before.count + 1 : 1;
  const others = past.filter((entry) => entry.call !== key);
  return { repetitions: [...others, { call: key, result: told, count }].slice(-REMEMBERED), count };
}
