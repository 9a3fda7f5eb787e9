import { compileGlob } from "../lib/index.ts";
import { type AgentDefinition, type CompactRule, canonicalToolName, type Rule } from "../protocol/index.ts";
import { ruleOf } from "./rule-of.ts";

export interface CompactResult {
  readonly pool: readonly string[];
  readonly rules: readonly Rule[];
  readonly limits: readonly Rule[];
}

/**
 * The compact form of an agent: per tool the last line about the whole of it says whether it is there; lines about a
 * part of it restrict. A part that is allowed of a tool that is denied is all the tool may do.
 */
export function applyCompactRules(definition: AgentDefinition, granted: readonly string[]): CompactResult {
  const lines = definition.permission ?? [];
  if (lines.length === 0) return { pool: granted, rules: [], limits: [] };
  const pool: string[] = [];
  const rules: Rule[] = [];
  const limits: Rule[] = [];
  for (const tool of granted) {
    const about = lines.filter((line) => coversTool(line, tool));
    const last = about.findLastIndex(({ pattern }) => isWhole(pattern));
    const whole = about[last]?.effect ?? "allow";
    const parts = about.slice(last + 1);
    const allowed = parts.filter(({ effect }) => effect === "allow");
    if (whole === "deny" && allowed.length === 0) continue;
    pool.push(tool);
    const textOf = ({ pattern }: CompactRule): string => `${tool}(${pattern})`;
    if (whole === "deny") limits.push(...allowed.map((line) => ruleOf(definition, textOf(line), "allow")));
    if (whole === "ask") rules.push(ruleOf(definition, tool, "ask"));
    for (const line of parts) {
      if (line.effect !== "allow") rules.push(ruleOf(definition, textOf(line), line.effect));
    }
    if (mayAllow(definition)) {
      const named = about[last] !== undefined && about[last].tool !== "*" && whole === "allow";
      if (named) rules.push(ruleOf(definition, tool, "allow"));
      rules.push(...allowed.map((line) => ruleOf(definition, textOf(line), "allow")));
    }
  }
  return { pool, rules, limits };
}

function isWhole(pattern: string | undefined): boolean {
  return pattern === undefined || pattern === "*" || pattern === "**";
}

function coversTool({ tool }: CompactRule, name: string): boolean {
  const canonical = canonicalToolName(tool);
  return canonical.includes("*") ? compileGlob(canonical)(name) : canonical === name;
}

/** Elsewhere an allow only says that the tool is in the pool. */
function mayAllow({ source }: AgentDefinition): boolean {
  return source === "user" || source === "flag" || source === "policy";
}
