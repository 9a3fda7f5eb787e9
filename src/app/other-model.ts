import type { Head } from "../protocol/index.ts";

/** Who goes on with a session and names no model should know that another one answers: at other prices, without the cache. */
export function tellOfOtherModel(before: Head | undefined, now: Head): readonly string[] {
  if (before === undefined || before.provider === "lost") return [];
  if (before.provider === now.provider && before.model === now.model) return [];
  const [old, other] = [`${before.provider}/${before.model}`, `${now.provider}/${now.model}`];
  return [`${old} answered in this session so far, now ${other} does. To stay with it give --model ${old}.`];
}
