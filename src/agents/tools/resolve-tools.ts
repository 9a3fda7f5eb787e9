import { nearest } from "../../lib/index.ts";
import { checkRules, parseRule } from "../../permissions/index.ts";
import {
  type AgentDefinition,
  isKnownTool,
  type PolicyLayer,
  type Rule,
  type ToolReport,
} from "../../protocol/index.ts";
import { applyCompactRules, definitionLayers, limitLayers, ruleOf, withheldLayers } from "./definition-rules.ts";
import { isEnforceable, readToolEntry, type ToolEntry } from "./tool-entry.ts";

export interface ResolvedTools {
  readonly report: ToolReport;
  /** Permissions that Retinue adds: those of a built-in agent, and those for the agent's memory. */
  readonly rules: readonly Rule[];
  /** Restrictions from the definition. They grant permissions only if the definition is the user's own. */
  readonly layers: readonly PolicyLayer[];
  /**
   * Limits to list in the prompt. A tool that is named in one of the lists may only do what a rule in that list covers.
   */
  readonly limits: readonly (readonly Rule[])[];
  readonly notices: readonly string[];
  /** Reason why the agent can't be started. Absent if the agent can be started. */
  readonly problem?: string | undefined;
}

/** A tool that exists but is not available in this session. */
export interface AbsentTool {
  readonly name: string;
  readonly reason: string;
}

export interface ToolSupply {
  /** Canonical names of the available tools, in the order of their declarations. */
  readonly available: readonly string[];
  readonly absent: readonly AbsentTool[];
}

/** Resolves a definition's tool lists. An entry that can't be parsed grants nothing. */
export function resolveTools(definition: AgentDefinition, supply: ToolSupply): ResolvedTools {
  const listed = (definition.tools ?? ["*"]).map(readToolEntry);
  const disallowed = (definition.disallowedTools ?? []).map(readToolEntry);
  const hasWildcard = listed.some(({ name, hasSpecifier }) => name === "*" && !hasSpecifier);
  const isHere = ({ covers }: ToolEntry): boolean => supply.available.some(covers);
  const valid = listed.filter((entry) => isEnforceable(entry) && isHere(entry));
  const invalid = listed.filter((entry) => !valid.includes(entry));
  const removed = disallowed.filter(({ hasSpecifier }) => !hasSpecifier);
  // A tool that is listed by its own name stays if only its kind of access is limited or disallowed. Commands don't:
  // Bash may write only what the agent may write.
  const named = listed.filter((entry) => isWhole(entry) && entry.name !== "Bash").map(({ name }) => name);
  const isRemoved = (tool: string): boolean =>
    removed.some(({ covers, isAbout }) => covers(tool) || (isAbout(tool) && !named.includes(tool)));
  const granted = supply.available.filter((tool) => valid.some(({ covers }) => covers(tool)) && !isRemoved(tool));
  const compact = applyCompactRules(definition, granted);
  const own = limitsOf(valid, compact.pool, definition);
  const limits = [own, compact.limits].filter((layer) => layer.length > 0);
  const denials = disallowed.filter(({ hasSpecifier }) => hasSpecifier).map(({ text }) => text);
  const layers = [
    ...limitLayers(own, named),
    ...withheldLayers(removed, named, definition),
    ...definitionLayers(definition, { pool: compact.pool, denials }),
  ];
  const report: ToolReport = {
    hasWildcard,
    validTools: valid.map(({ text }) => text),
    invalidTools: invalid.map(({ text }) => text),
    resolvedTools: compact.pool,
  };
  const unknown = removed.filter((entry) => entry.name !== "*" && !isHere(entry) && !isAbsent(entry, supply));
  // Built-in agents list optional tools, so their absence is not reported.
  const reported = definition.source === "built-in" ? invalid.filter((entry) => !isAbsent(entry, supply)) : invalid;
  const explain = (entry: ToolEntry): string => explainInvalid(entry, definition, supply);
  const notices = [
    ...reported.filter(exists).map(explain),
    ...unknown
      .filter(exists)
      .map(({ text }) => `${nameOf(definition)} disallows ${text}, which is not available in this session.`),
    ...checkRules(layers.flatMap(({ rules }) => rules).filter(isChecked)).map(({ message }) => message),
  ];
  const problem = problemOf(definition, report, { notices: reported.map(explain), supply });
  return { report, rules: grantsOf(definition), layers, limits, notices, problem };
}

function grantsOf({ source, grants = [] }: AgentDefinition): readonly Rule[] {
  if (source !== "built-in") return [];
  return grants.map((text) => ({ text, effect: "allow", scope: "builtin" }));
}

/** Returns false if no tool has this name. An unknown name was already reported when the definition was read. */
function exists({ name }: ToolEntry): boolean {
  return isKnownTool(name);
}

/**
 * Returns whether a rule should be checked for validity. Excludes lines such as `*: allow`, which only select the tools
 * of the pool, and names that no tool has.
 */
function isChecked({ text, effect, form }: Rule): boolean {
  return (
    exists(readToolEntry(text)) &&
    !(form === "compact" && effect === "allow" && text.includes("*") && !text.includes("("))
  );
}

/**
 * Returns the limits of tools that are listed only with specifiers. A tool that is also listed without a specifier is
 * not limited.
 */
function limitsOf(valid: readonly ToolEntry[], pool: readonly string[], definition: AgentDefinition): Rule[] {
  const whole = valid.filter(isWhole);
  return valid
    .filter(({ name }) => pool.includes(name) && !whole.some(({ covers }) => covers(name)))
    .map(({ text }) => ruleOf(definition, text, "allow"));
}

function isWhole({ text, hasSpecifier }: ToolEntry): boolean {
  if (!hasSpecifier) return true;
  const parsed = parseRule(text);
  return parsed.ok && parsed.target.kind === "whole";
}

function isAbsent({ covers }: ToolEntry, { absent }: ToolSupply): boolean {
  return absent.some(({ name }) => covers(name));
}

function explainInvalid(entry: ToolEntry, definition: AgentDefinition, { available, absent }: ToolSupply): string {
  const lists = `${nameOf(definition)} lists ${entry.text}`;
  const missing = absent.find(({ name }) => entry.covers(name));
  if (missing !== undefined) return `${lists}, which is not available: ${missing.reason}`;
  if (available.some(entry.covers))
    return `${lists}, whose specifier is not supported; the agent does not get the tool.`;
  const meant = nearest(entry.name, available)[0];
  return `${lists}, which is not available in this session.${meant === undefined ? "" : ` Did you mean ${meant}?`}`;
}

function problemOf(
  definition: AgentDefinition,
  { resolvedTools }: ToolReport,
  { notices, supply }: { readonly notices: readonly string[]; readonly supply: ToolSupply },
): string | undefined {
  const required = (definition.requiredTools ?? []).map(readToolEntry);
  const missing = required.filter(({ covers }) => !resolvedTools.some(covers)).map(({ text }) => text);
  if (missing.length > 0) return `${nameOf(definition)} requires ${missing.join(", ")}, which it does not have.`;
  // A definition without a list accepts the available tools, even if there are none.
  const askedForSome = definition.tools === undefined ? supply.available.length > 0 : definition.tools.length > 0;
  if (resolvedTools.length > 0 || !askedForSome) return undefined;
  return [`${nameOf(definition)} has no tools left.`, ...notices].join(" ");
}

function nameOf({ name, file, source }: AgentDefinition): string {
  // The program's own agents have no file.
  return file === undefined || source === "flag" ? `Agent "${name}"` : `Agent "${name}" (${file})`;
}
