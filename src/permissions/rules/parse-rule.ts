import { nearest } from "../../lib/index.ts";
import { canonicalToolName, isKnownTool, type Rule, ruledAccess, toolNames } from "../../protocol/index.ts";
import { type CommandPattern, parseCommandPattern } from "./command-pattern.ts";
import { type DomainPattern, parseDomainPattern } from "./domain-pattern.ts";
import { pathGlobProblem, pathPatternProblem } from "./path-pattern.ts";

/**
 * The uses of a tool that a rule applies to. `whole`: every use. `unknown`: a specifier that this version does not
 * support.
 */
export type RuleTarget =
  | { readonly kind: "whole" }
  | { readonly kind: "path"; readonly pattern: string; readonly touches: "read" | "write" }
  | { readonly kind: "command"; readonly pattern: CommandPattern }
  | { readonly kind: "domain"; readonly pattern: DomainPattern }
  | { readonly kind: "agent"; readonly agentTypes: readonly string[] }
  | { readonly kind: "skill"; readonly skill: string }
  /** A parameter of the call, as in `Agent(model:opus)`. Such a rule can only restrict. */
  | { readonly kind: "parameter"; readonly name: string; readonly value: string }
  | { readonly kind: "unknown"; readonly specifier: string };

export interface ParsedRule {
  readonly ok: true;
  /** Canonical name; may contain `*`. */
  readonly tool: string;
  readonly target: RuleTarget;
}

export interface RuleProblem {
  readonly ok: false;
  readonly text: string;
  /** Set if the tool name could be parsed, because an invalid restriction then applies to the whole tool. */
  readonly tool?: string | undefined;
  readonly message: string;
}

const misplacedSpecifier = "put the specifier in parentheses right after the tool, as in `Bash(npm test)`";

/** Parses `Tool` or `Tool(specifier)`. Never throws. */
export function parseRule(text: string, form?: Rule["form"]): ParsedRule | RuleProblem {
  const trimmed = text.trim();
  const name = /^[\p{L}\p{N}_*.\-:]+/u.exec(trimmed)?.[0];
  if (name === undefined) return problem(text, "it does not start with the name of a tool");
  // Names of plugins' parts contain colons, but `Bash:touch x` is a rule for Bash.
  const before = name.replace(/:.*$/, "");
  if (before !== name && toolNames.includes(canonicalToolName(before)))
    return problem(text, misplacedSpecifier, canonicalToolName(before));
  const tool = canonicalToolName(name);
  const rest = trimmed.slice(name.length);
  if (rest === "") return { ok: true, tool, target: { kind: "whole" } };
  if (rest.startsWith("(") && !rest.includes(")")) {
    const closed = rest.slice(1).trim() === "" ? tool : `${trimmed})`;
    return problem(text, `the closing parenthesis is missing; write \`${closed}\``, tool);
  }
  if (!rest.startsWith("(") || !rest.endsWith(")")) {
    return problem(text, misplacedSpecifier, tool);
  }
  const specifier = rest.slice(1, -1).trim();
  if (specifier === "")
    return problem(text, `the parentheses are empty; write \`${tool}\` to cover every use of it`, tool);
  const target = parseSpecifier(tool, specifier, form);
  return typeof target === "string" ? problem(text, target, tool) : { ok: true, tool, target };
}

/** Returns the reason why the text is not a valid rule for a tool; undefined if it is valid. */
export function invalidRule(text: string): string | undefined {
  const parsed = parseRule(text);
  if (!parsed.ok) return `${parsed.message}.`;
  return isKnownTool(parsed.tool) ? undefined : `there is no tool "${parsed.tool}".${guessedTool(parsed.tool)}`;
}

/**
 * Returns a message for each rule that is invalid or has no effect. `own` contains the names of tools that the program
 * defines.
 */
export function checkRules(
  rules: readonly Rule[],
  own: readonly string[] = [],
): readonly { readonly rule: Rule; readonly message: string }[] {
  const problems: { rule: Rule; message: string }[] = [];
  for (const rule of rules) {
    const message = problemOf(rule, own);
    if (message === undefined) continue;
    problems.push({ rule, message: `${placeOf(rule)}: ${rule.effect} rule \`${rule.text}\`: ${message}` });
  }
  return problems;
}

function placeOf({ file, line, scope, effect }: Rule): string {
  if (file !== undefined) return line === undefined ? file : `${file}:${line}`;
  // Rules in settings files have a file.
  if (scope === "user") return "the `settings` option";
  if (scope !== "flag" || effect === "ask") return `A rule in ${scope} scope`;
  return `the \`${effect === "allow" ? "allowedTools" : "disallowedTools"}\` option`;
}

function problemOf(rule: Rule, own: readonly string[]): string | undefined {
  const parsed = parseRule(rule.text, rule.form);
  const restricts = rule.effect !== "allow";
  if (!parsed.ok) {
    if (!restricts) return `${parsed.message}. The rule is ignored.`;
    return parsed.tool === undefined
      ? `${parsed.message}. The rule has no effect.`
      : `${parsed.message}. Until it is corrected, it applies to every use of ${parsed.tool}.`;
  }
  const isOwn = own.includes(parsed.tool);
  if (!isOwn && !isKnownTool(parsed.tool))
    return `there is no tool "${parsed.tool}", so the rule has no effect.${guessedTool(parsed.tool, own)}`;
  if (parsed.target.kind === "unknown") {
    // The rule names a tool that only other, compatible programs have, so the tool is never called here.
    if (!isOwn && !toolNames.includes(parsed.tool) && !/^mcp__|\*/.test(parsed.tool)) return undefined;
    return restricts
      ? `specifiers for ${parsed.tool} are not supported, so the rule applies to every use of ${parsed.tool}.`
      : `specifiers for ${parsed.tool} are not supported. The rule is ignored.`;
  }
  if (restricts) return undefined;
  if (parsed.target.kind === "parameter")
    return "a rule for a parameter can deny or ask, but not allow. The rule is ignored.";
  if (parsed.target.kind === "command" && parsed.target.pattern.exact === undefined) {
    return "it is not one simple command, so the rule does not allow anything. Write one rule for each command.";
  }
  if (parsed.tool.includes("*") && !isServerWildcard(parsed.tool)) {
    return "a rule with `*` in the tool name can restrict, but not allow (except `mcp__server__*`). The rule is ignored.";
  }
  return undefined;
}

function guessedTool(name: string, own: readonly string[] = []): string {
  const [guess] = nearest(name, [...toolNames, ...own]);
  return guess === undefined ? "" : ` Did you mean "${guess}"?`;
}

export function isServerWildcard(tool: string): boolean {
  return /^mcp__[^*]+__\*$/.test(tool);
}

function parseSpecifier(tool: string, specifier: string, form: Rule["form"]): RuleTarget | string {
  if (tool === "Bash") {
    return specifier === "*" || specifier === ":*"
      ? { kind: "whole" }
      : { kind: "command", pattern: parseCommandPattern(specifier) };
  }
  const touches = ruledAccess(tool);
  if (touches === "read" || touches === "write") {
    const broken = pathPatternProblem(specifier) ?? (form === "compact" ? pathGlobProblem(specifier) : undefined);
    return broken ?? { kind: "path", pattern: specifier, touches };
  }
  if (touches === "network") {
    const host = specifier.startsWith("domain:") ? specifier.slice(7).trim() : form === "compact" ? specifier : "";
    const pattern = parseDomainPattern(host);
    return pattern === undefined
      ? "a WebFetch rule must name a host, as in `WebFetch(domain:example.com)`"
      : { kind: "domain", pattern };
  }
  if (tool === "Task") {
    const [, name, value] = /^(model|isolation|run_in_background|max_turns|name):(.*)$/s.exec(specifier) ?? [];
    if (name === undefined || value === undefined) {
      // `Agent(Explore, Plan)` means each of these agents.
      const agentTypes = specifier.split(",").map((each) => each.trim());
      return { kind: "agent", agentTypes: agentTypes.filter((each) => each !== "") };
    }
    return { kind: "parameter", name, value: value.trim() };
  }
  // `deploy *` and `deploy:*` mean the skill with any arguments.
  if (tool === "Skill") return { kind: "skill", skill: specifier.replace(/^\//, "").replace(/ \*$/, "") };
  return { kind: "unknown", specifier };
}

function problem(text: string, message: string, tool?: string): RuleProblem {
  return { ok: false, text, tool, message };
}
