import {
  type AgentDefinition,
  accessNamed,
  type CompactRule,
  canonicalToolName,
  type DefinitionSource,
  type Effect,
  isWholePattern,
  type PolicyLayer,
  type Rule,
  type RuleScope,
  ruledAccess,
  textsOfLine,
  toolNames,
} from "../../protocol/index.ts";
import { readToolEntry, type ToolEntry } from "./tool-entry.ts";

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
  const { permission = [] } = definition;
  if (permission.length === 0) return { pool: granted, limits: [] };
  const lines = permission.flatMap(({ tool, pattern, effect }) =>
    textsOfLine(tool, pattern).map((text) => ruleOf(definition, text, effect)),
  );
  const pool: string[] = [];
  const limits: Rule[] = [];
  for (const tool of granted) {
    const found = denialIn(lines, tool);
    if (found?.left.length === 0) continue;
    pool.push(tool);
    if (found === undefined || found.left.some(({ text }) => isWhole(text))) continue;
    limits.push(
      ...found.left.map(({ text }) => ruleOf(definition, `${tool}${text.slice(text.indexOf("("))}`, "allow")),
    );
  }
  return { pool, limits };
}

/**
 * Returns the last line that denies a whole tool, and the later lines that still allow some of its uses. A line about
 * all writing does not reverse the denial of a single tool. Undefined if no line denies the tool.
 */
export function denialIn(
  lines: readonly Rule[],
  tool: string,
): { readonly denial: Rule; readonly left: readonly Rule[] } | undefined {
  const about = lines.filter(({ text }) => readToolEntry(text).isAbout(tool));
  const last = about.findLastIndex(isWholeDenial);
  const denial = about[last];
  if (denial === undefined) return undefined;
  const isSingle = denial.text === tool && accessNamed(tool) === undefined;
  const left = about
    .slice(last + 1)
    .filter(({ effect, text }) => effect !== "deny" && !(isSingle && accessNamed(text) !== undefined));
  return { denial, left };
}

export function isWholeDenial({ effect, text }: Rule): boolean {
  return effect === "deny" && isWhole(text);
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
    const texts = toolsOf(line, pool).flatMap((tool) => textsOfLine(tool, line.pattern));
    return texts.map((text): Rule => ({ ...ruleOf(definition, text, line.effect), form: "compact" }));
  });
  const rules = [...lines, ...denials.map((text) => ruleOf(definition, text, "deny"))];
  return [{ rules, settles: maySettle(definition) ? true : undefined }];
}

/**
 * Returns a layer that denies each tool named in `limits`, except for what one of the rules in `limits` covers. If it
 * names a tool that writes, everything that writes is denied, except for the tools in `kept`.
 */
export function limitLayers(limits: readonly Rule[], kept: readonly string[] = []): readonly PolicyLayer[] {
  const [first] = limits;
  if (first === undefined) return [];
  const named = limits.map(({ text }) => readToolEntry(text).name);
  const tools = new Set(named.map((name) => (ruledAccess(name) === "write" ? "Edit" : name)));
  return [{ rules: [...denying([...tools], kept, first), ...limits] }];
}

/** Returns a layer that denies what the names of withheld tools stand for, except for the tools in `kept`. */
export function withheldLayers(
  withheld: readonly ToolEntry[],
  kept: readonly string[],
  definition: AgentDefinition,
): readonly PolicyLayer[] {
  const names = new Set(withheld.map(({ name }) => name).filter((name) => accessNamed(name) !== undefined));
  return names.size === 0 ? [] : [{ rules: denying([...names], kept, ruleOf(definition, "", "deny")) }];
}

/** Returns rules that deny tools. If one of them stands for a kind of access, tools in `kept` are excepted. */
function denying(tools: readonly string[], kept: readonly string[], { scope, file }: Rule): readonly Rule[] {
  const kinds = new Set(tools.flatMap((tool) => accessNamed(tool) ?? []));
  const excepted = kept.filter((name) => {
    const access = ruledAccess(name);
    if (tools.includes(name) || name === "*" || kinds.size === 0) return false;
    return access === undefined ? name === "Bash" || !toolNames.includes(name) : kinds.has(access);
  });
  return [
    ...tools.map((text): Rule => ({ text, effect: "deny", scope, file })),
    ...excepted.map((text): Rule => ({ text, effect: "allow", scope, file })),
  ];
}

/** Expands a wildcard in the tool name, as in `*: {"*.env": deny}`, to the matching tools of the pool. */
function toolsOf({ tool, pattern }: CompactRule, pool: readonly string[]): readonly string[] {
  const name = canonicalToolName(tool);
  if (!name.includes("*") || isWholePattern(pattern)) return [name];
  return pool.filter(readToolEntry(name).isAbout);
}

function isWhole(text: string): boolean {
  return !text.includes("(");
}

/**
 * Returns whether an allow rule in the definition grants a permission. If not, the rule only keeps the tool in the
 * pool.
 */
function maySettle({ source }: AgentDefinition): boolean {
  return source === "user" || source === "flag" || source === "policy";
}
