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
  const told = digest(`${result.outcome} ${textOf(result.content)}`);
  const before = past.find((entry) => entry.call === key);
  const count = before?.result === told ? before.count + 1 : 1;
  const others = past.filter((entry) => entry.call !== key);
  return { repetitions: [...others, { call: key, result: told, count }].slice(-REMEMBERED), count };
}

/** Two 32-bit hashes side by side: only ever compared within one run, so chance is all it must withstand. */
function digest(text: string): string {
  let left = 0x811c9dc5;
  let right = 0x9747b28c;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    left = Math.imul(left ^ code, 0x01000193);
    right = Math.imul(right ^ code, 0x85ebca6b) + 0x5bd1e995;
  }
  return `${text.length}-${(left >>> 0).toString(36)}-${(right >>> 0).toString(36)}`;
}
