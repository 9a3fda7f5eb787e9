import { parseRule } from "../permissions/index.ts";
import type { Rule } from "../protocol/index.ts";
import { readToolEntry } from "./tool-entry.ts";

/** `Bash` and `mcp__server` alone take tools away; `Bash(rm:*)` leaves it, with a rule. */
export function isDeniedBy(tool: string, { effect, text }: Rule): boolean {
  if (effect !== "deny" || text.includes("(")) return false;
  return parseRule(text).ok && readToolEntry(text).covers(tool);
}
