import { backgroundTools, type Policy } from "../protocol/index.ts";

/** Declared tools stay, for the cache; calls outside the list are refused. */
export function backgroundPolicy(policy: Policy): Policy {
  const pool = policy.pool.filter((tool) => backgroundTools.has(tool) || tool.startsWith("mcp__"));
  return { ...policy, pool };
}
