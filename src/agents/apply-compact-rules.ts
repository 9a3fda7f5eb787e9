import { compileGlob } from "../lib/index.ts";
import {
  type AgentDefinition,
  type CompactRule,
  canonicalToolName,
  type PolicyLayer,
  type Rule,
} from "../protocol/index.ts";
import { ruleOf } from "./rule-of.ts";

export interface CompactResult {
  readonly pool: readonly string[];
  /** What the lines leave of tools that they deny otherwise, for the prompt. */
  readonly limits: readonly Rule[];
}

/** Which tools the compact form of an agent leaves: the last line about the whole of a tool says whether it is there, or a later line leaves a part of it. */
export function applyCompactRules(definition: AgentDefinition, granted: readonly string[]): CompactResult {
  const lines = definition.permission ?? [];
  if (lines.length === 0) return { pool: granted, limits: [] };
  const pool: string[] = [];
  const limits: Rule[] = [];
  for (const tool of granted) {
    const about = lines.filter((line) => coversTool(line, tool));
    const last = about.findLastIndex(({ pattern }) => isWhole(pattern));
    const isDenied = about[last]?.effect === "deny";
    const left = about.slice(last + 1).filter(({ effect }) => effect !== "deny");
    if (isDenied && left.length === 0) continue;
    pool.push(tool);
    if (isDenied) limits.push(...left.map(({ pattern }) => ruleOf(definition, `${tool}(${pattern})`, "allow")));
  }
  return { pool, limits };
}

/** The lines in their order, then what `disallowedTools` takes of a tool. */
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
  return [{ rules, ...(maySettle(definition) ? { settles: true } : {}) }];
}

/** Of a tool that is named here only what one of the rules covers is left. */
export function limitLayer(limits: readonly Rule[], toolOf: (rule: Rule) => string): PolicyLayer {
  const tools = new Map(limits.map((rule) => [toolOf(rule), rule]));
  const denials = [...tools].map(([tool, { scope, file }]): Rule => {
    return { text: tool, effect: "deny", scope, ...(file === undefined ? {} : { file }) };
  });
  return { rules: [...denials, ...limits] };
}

/** `*: {"*.env": deny}` is said of each tool there is. */
function toolsOf(line: CompactRule, pool: readonly string[]): readonly string[] {
  const name = canonicalToolName(line.tool);
  return name.includes("*") ? pool.filter((tool) => coversTool(line, tool)) : [name];
}

function isWhole(pattern: string | undefined): boolean {
  return pattern === undefined || pattern === "*" || pattern === "**";
}

function coversTool({ tool }: CompactRule, name: string): boolean {
  const canonical = canonicalToolName(tool);
  return canonical.includes("*") ? compileGlob(canonical)(name) : canonical === name;
}

/** Elsewhere an allow only says that the tool is in the pool. */
function maySettle({ source }: AgentDefinition): boolean {
  return source === "user" || source === "flag" || source === "policy";
}
