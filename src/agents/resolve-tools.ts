import { nearest } from "../lib/index.ts";
import { checkRules, parseRule } from "../permissions/index.ts";
import type { AgentDefinition, PolicyLayer, Rule, ToolReport } from "../protocol/index.ts";
import { applyCompactRules, definitionLayers, limitLayer } from "./apply-compact-rules.ts";
import { ruleOf } from "./rule-of.ts";
import { isJudged, readToolEntry, type ToolEntry } from "./tool-entry.ts";

export interface ResolvedTools {
  readonly report: ToolReport;
  /** Permissions that come with the agent's place. */
  readonly rules: readonly Rule[];
  /** What the definition says of its tools; never a permission, except where a person's own file gives one. */
  readonly layers: readonly PolicyLayer[];
  /** For the prompt. In each of these a tool that is named may do only what one of its rules covers. */
  readonly limits: readonly (readonly Rule[])[];
  readonly notices: readonly string[];
  /** Why the agent can't be started. */
  readonly problem?: string;
}

export interface ToolSupply {
  /** Canonical names of the tools that are here, in the order they are declared. */
  readonly available: readonly string[];
  /** Tools that exist and are not here, and why. */
  readonly absent: readonly { readonly name: string; readonly reason: string }[];
}

/** Never wider than what is listed: an entry nobody can make sense of gives nothing. */
export function resolveTools(definition: AgentDefinition, supply: ToolSupply): ResolvedTools {
  const listed = (definition.tools ?? ["*"]).map(readToolEntry);
  const disallowed = (definition.disallowedTools ?? []).map(readToolEntry);
  const hasWildcard = listed.some(({ name, hasSpecifier }) => name === "*" && !hasSpecifier);
  const isHere = ({ covers }: ToolEntry): boolean => supply.available.some(covers);
  const readable = listed.filter(isJudged);
  const valid = readable.filter(isHere);
  const invalid = listed.filter((entry) => !valid.includes(entry));
  const removed = disallowed.filter(({ hasSpecifier }) => !hasSpecifier);
  const granted = supply.available.filter(
    (tool) => valid.some(({ covers }) => covers(tool)) && !removed.some(({ covers }) => covers(tool)),
  );
  const compact = applyCompactRules(definition, granted);
  const own = limitsOf(valid, compact.pool, definition);
  const limits = [own, compact.limits].filter((layer) => layer.length > 0);
  const denials = disallowed.filter(({ hasSpecifier }) => hasSpecifier).map(({ text }) => text);
  const layers = [...limitLayers(own), ...definitionLayers(definition, { pool: compact.pool, denials })];
  const report: ToolReport = {
    hasWildcard,
    validTools: valid.map(({ text }) => text),
    invalidTools: invalid.map(({ text }) => text),
    resolvedTools: compact.pool,
  };
  const unknown = removed.filter((entry) => entry.name !== "*" && !isHere(entry) && !isAbsent(entry, supply));
  // A built-in lists what it would use where it is there; nobody has to mend that.
  const told = definition.source === "built-in" ? invalid.filter((entry) => !isAbsent(entry, supply)) : invalid;
  const notices = [
    ...told.map((entry) => explainInvalid(entry, definition, supply)),
    ...unknown.map(({ text }) => `${nameOf(definition)} disallows ${text}, which is not a tool here.`),
    ...checkRules(layers.flatMap(({ rules }) => rules).filter(isNoLine)).map(({ message }) => message),
  ];
  const problem = problemOf(definition, report, { notices, supply });
  return { report, rules: [], layers, limits, notices, ...(problem === undefined ? {} : { problem }) };
}

export function limitLayers(limits: readonly Rule[]): readonly PolicyLayer[] {
  return limits.length === 0 ? [] : [limitLayer(limits, ({ text }) => readToolEntry(text).name)];
}

/** Of `*: allow` there is nothing to tell: it says what is in the pool. */
function isNoLine({ text, effect, form }: Rule): boolean {
  return !(form === "compact" && effect === "allow" && text.includes("*") && !text.includes("("));
}

/** A tool that is listed once without a specifier is not limited by another entry that has one. */
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
  if (missing !== undefined) return `${lists}, which is not here: ${missing.reason}`;
  if (available.some(entry.covers))
    return `${lists}: what stands in the parentheses can't be judged, so it is not given.`;
  const meant = nearest(entry.name, available)[0];
  return `${lists}, which is not a tool here.${meant === undefined ? "" : ` Did you mean ${meant}?`}`;
}

function problemOf(
  definition: AgentDefinition,
  { resolvedTools }: ToolReport,
  { notices, supply }: { readonly notices: readonly string[]; readonly supply: ToolSupply },
): string | undefined {
  const required = (definition.requiredTools ?? []).map(readToolEntry);
  const missing = required.filter(({ covers }) => !resolvedTools.some(covers)).map(({ text }) => text);
  if (missing.length > 0)
    return `${nameOf(definition)} can't work without ${missing.join(", ")}, which it does not have.`;
  // Who lists nothing takes what there is, be it nothing.
  const askedForSome = definition.tools === undefined ? supply.available.length > 0 : definition.tools.length > 0;
  if (resolvedTools.length > 0 || !askedForSome) return undefined;
  return [`${nameOf(definition)} is left without any tool.`, ...notices].join(" ");
}

function nameOf({ name, file }: AgentDefinition): string {
  return file === undefined ? `Agent "${name}"` : `Agent "${name}" (${file})`;
}
