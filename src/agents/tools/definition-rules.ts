import { matchParts } from "../../lib/index.ts";
import {
  type AgentDefinition,
  type CompactRule,
  canonicalToolName,
  type DefinitionSource,
  type Effect,
  type PolicyLayer,
  type Rule,
  type RuleScope,
} from "../../protocol/index.ts";
import { readToolEntry } from "./tool-entry.ts";

/** Creates a rule from a definition. The scope of the rule depends on the definition's source. */
export function ruleOf({ source, file }: AgentDefinition, text: string, effect: Effect): Rule {
  return { text, effect, scope: scopes[source], file };
}

const scopes: Record<DefinitionSource, RuleScope> = {
  "built-in": "builtin",
  plugin: "project",
  user: "user",
  project: "project",
  flag: "flag",
  policy: "managed",
};

export interface CompactResult {
  readonly pool: readonly string[];
  /** Rules that allow some uses of otherwise denied tools. The prompt lists these rules. */
  readonly limits: readonly Rule[];
}

/**
 * Applies the lines of a definition's `permission` field to its tools. The last line about a whole tool decides whether
 * the agent has the tool, unless a later line allows some uses of it.
 */
export function applyCompactRules(definition: AgentDefinition, granted: readonly string[]): CompactResult {
  const lines = definition.permission ?? [];
  if (lines.length === 0) return { pool: granted, limits: [] };
  const pool: string[] = [];
  const limits: Rule[] = [];
  for (const tool of granted) {
    const matching = lines.filter((line) => coversTool(line, tool));
    const last = matching.findLastIndex(({ pattern }) => isWhole(pattern));
    const isDenied = matching[last]?.effect === "deny";
    const left = matching.slice(last + 1).filter(({ effect }) => effect !== "deny");
    if (isDenied && left.length === 0) continue;
    pool.push(tool);
    if (isDenied) limits.push(...left.map(({ pattern }) => ruleOf(definition, `${tool}(${pattern})`, "allow")));
  }
  return { pool, limits };
}

/**
 * Returns the lines of the definition's `permission` field in order, followed by the entries of `disallowedTools` that
 * have a specifier.
 */
export function definitionLayers(
  definition: AgentDefinition,
  { pool, denials }: { readonly pool: readonly string[]; readonly denials: readonly string[] },
): readonly PolicyLayer[] {
  const { permission = [] } = definition;
  if (permission.length + denials.length === 0) return [];
  const lines = permission.flatMap((line) => {
    const name = canonicalToolName(line.tool);
    const texts = isWhole(line.pattern) ? [name] : toolsOf(line, pool).map((tool) => `${tool}(${line.pattern})`);
    return texts.map((text): Rule => ({ ...ruleOf(definition, text, line.effect), form: "compact" }));
  });
  const rules = [...lines, ...denials.map((text) => ruleOf(definition, text, "deny"))];
  return [{ rules, settles: maySettle(definition) ? true : undefined }];
}

/** Returns a layer that denies each tool named in `limits`, except for what one of the rules in `limits` covers. */
export function limitLayers(limits: readonly Rule[]): readonly PolicyLayer[] {
  if (limits.length === 0) return [];
  const tools = new Map(limits.map((rule) => [readToolEntry(rule.text).name, rule]));
  const denials = [...tools].map(([text, { scope, file }]): Rule => ({ text, effect: "deny", scope, file }));
  return [{ rules: [...denials, ...limits] }];
}

/** Expands a pattern in the tool name, as in `*: {"*.env": deny}`, to the matching tools of the pool. */
function toolsOf(line: CompactRule, pool: readonly string[]): readonly string[] {
  const name = canonicalToolName(line.tool);
  return name.includes("*") ? pool.filter((tool) => coversTool(line, tool)) : [name];
}

function isWhole(pattern: string | undefined): boolean {
  return pattern === undefined || pattern === "*" || pattern === "**";
}

function coversTool({ tool }: CompactRule, name: string): boolean {
  const canonical = canonicalToolName(tool);
  return canonical.includes("*") ? matchParts(canonical.split("*"), name) : canonical === name;
}

/**
 * Returns whether an allow rule in the definition grants a permission. If not, the rule only keeps the tool in the
 * pool.
 */
function maySettle({ source }: AgentDefinition): boolean {
  return source === "user" || source === "flag" || source === "policy";
}
