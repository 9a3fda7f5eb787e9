import type { Settings } from "../../protocol/index.ts";
import type { PrintOptions } from "../command.ts";

/** Limits and switches given as options, as settings of the flag scope. */
export function limitFlags({ maxCost, maxTokens, maxSpawns, fork, cacheLifetime }: PrintOptions): Settings {
  const budget = {
    ...(maxCost === undefined ? {} : { usd: maxCost }),
    ...(maxTokens === undefined ? {} : { tokens: maxTokens }),
  };
  return {
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(fork === undefined ? {} : { fork }),
    ...(cacheLifetime === undefined ? {} : { cache: { lifetime: cacheLifetime } }),
    ...(maxSpawns === undefined ? {} : { subagents: { maxSpawns } }),
  };
}
