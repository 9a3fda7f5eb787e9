import { parseRule } from "../permissions/index.ts";
import type { Rule } from "../protocol/index.ts";
import { readToolEntry } from "./tool-entry.ts";

/**
 * The rule that takes a tool away: `Bash` or `mcp__server` alone in a list (`Bash(rm:*)` leaves it, with a rule), or a line
 * about the whole of it that no later line takes back, not even for a part.
 */
export function denialOf(tool: string, rules: readonly Rule[]): Rule | undefined {
  const listed = rules.find((rule) => rule.form === undefined && isWholeDenial(rule) && isAbout(rule, tool));
  if (listed !== undefined) return listed;
  const lines = rules.filter((rule) => rule.form !== undefined && isAbout(rule, tool));
  const last = lines.findLastIndex(isWholeDenial);
  return lines.slice(last + 1).every(({ effect }) => effect === "deny") ? lines[last] : undefined;
}

function isAbout({ text }: Rule, tool: string): boolean {
  return readToolEntry(text).covers(tool) && parseRule(text).ok;
}

function isWholeDenial({ effect, text }: Rule): boolean {
  return effect === "deny" && !text.includes("(");
}
