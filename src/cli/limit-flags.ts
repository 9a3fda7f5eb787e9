import type { Settings } from "../protocol/index.ts";
import type { PrintOptions } from "./command.ts";

/** Limits and switches given as options, as settings of the flag scope. */
export function limitFlags({ maxCost, maxTokens, maxSpawns, fork }: PrintOptions): Settings {
  const budget = {
    ...(maxCost === undefined ? {} : { usd: maxCost }),
    ...(maxTokens === undefined ? {} : { tokens: maxTokens }),
  };
  return {
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(fork === undefined ? {} : { fork }),
    ...(maxSpawns === undefined ? {} : { subagents: { maxSpawns } }),
  };
}
