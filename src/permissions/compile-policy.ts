import { canonicalToolName, type Policy, type Rule } from "../protocol/index.ts";
import type { CommandPattern } from "./command-pattern.ts";
import type { DomainPattern } from "./domain-pattern.ts";
import { isServerWildcard, parseRule, type RuleTarget } from "./parse-rule.ts";
import { compilePathPattern, literalNames, type PathMatcher, tellingName } from "./path-pattern.ts";
import { protectedPart } from "./protected-path.ts";

export interface CompiledRule {
  readonly rule: Rule;
  /** Says that the rule could not be read and holds for the whole tool. */
  readonly broken: boolean;
  readonly coversTool: (toolName: string) => boolean;
  readonly target: CompiledTarget;
}

export type CompiledTarget =
  | { readonly kind: "whole" }
  | {
      readonly kind: "path";
      readonly touches: "read" | "write";
      readonly matches: PathMatcher;
      readonly namesProtected: boolean;
    }
  | { readonly kind: "command"; readonly pattern: CommandPattern }
  | { readonly kind: "domain"; readonly pattern: DomainPattern }
  | { readonly kind: "agent"; readonly agentType: string };

export interface CompiledPolicy {
  readonly policy: Policy;
  readonly homes: readonly string[];
  readonly pool: ReadonlySet<string>;
  readonly deny: readonly CompiledRule[];
  readonly ask: readonly CompiledRule[];
  readonly allow: readonly CompiledRule[];
  /** Some restriction depends on what a command would run, so commands must show it. */
  readonly limitsCommands: boolean;
  /** Names that path restrictions spell out, folded; a command that mentions one is not passed unseen. */
  readonly guardedNames: readonly GuardedName[];
}

export interface GuardedName {
  readonly name: string;
  /** False for a piece of a name, from a pattern such as `.env*`. */
  readonly whole: boolean;
  readonly rule: Rule;
}

const compiled = new WeakMap<Policy, CompiledPolicy>();

/** Policies are frozen data: one object is compiled once. `homes`: the user's home directory, as spelled and resolved. */
export function compilePolicy(policy: Policy, homes: readonly string[] = []): CompiledPolicy {
  const known = compiled.get(policy);
  if (known !== undefined && sameHomes(known.homes, homes)) return known;
  const fresh = compile(policy, homes);
  compiled.set(policy, fresh);
  return fresh;
}

/** For absolute paths: true where a deny rule for reading hides the file from listings and searches. */
export function hiddenPredicate(policy: Policy, homes: readonly string[] = []): (absolutePath: string) => boolean {
  const matchers: PathMatcher[] = [];
  for (const { target } of compilePolicy(policy, homes).deny) {
    if (target.kind === "path" && target.touches === "read") matchers.push(target.matches);
  }
  if (matchers.length === 0) return () => false;
  return (absolutePath) => matchers.some((matches) => matches(absolutePath));
}

function compile(policy: Policy, homes: readonly string[]): CompiledPolicy {
  const rules = policy.rules.map((rule) => compileRule(rule, policy, homes)).filter((rule) => rule !== undefined);
  const restricting = rules.filter(({ rule }) => rule.effect !== "allow");
  return {
    policy,
    homes: [...homes],
    pool: new Set(policy.pool.map(canonicalToolName)),
    deny: rules.filter(({ rule }) => rule.effect === "deny"),
    ask: rules.filter(({ rule }) => rule.effect === "ask"),
    allow: rules.filter(({ rule }) => rule.effect === "allow"),
    limitsCommands: restricting.some(({ target }) => target.kind === "command"),
    guardedNames: restricting.flatMap(guardedNamesOf),
  };
}

/** Undefined for a rule that has no effect. */
function compileRule(rule: Rule, policy: Policy, homes: readonly string[]): CompiledRule | undefined {
  const parsed = parseRule(rule.text);
  const wide = rule.effect !== "allow";
  if (!parsed.ok) {
    if (!wide || parsed.tool === undefined) return undefined;
    return { rule, broken: true, coversTool: toolMatcher(parsed.tool), target: { kind: "whole" } };
  }
  const { tool, target } = parsed;
  if (!wide && (target.kind === "unknown" || (tool.includes("*") && !isServerWildcard(tool)))) return undefined;
  const place = { roots: policy.workspaceRoots, homes, wide };
  return {
    rule,
    broken: target.kind === "unknown",
    coversTool: toolMatcher(tool),
    target: compileTarget(target, place),
  };
}

function compileTarget(target: RuleTarget, place: Parameters<typeof compilePathPattern>[1]): CompiledTarget {
  if (target.kind === "unknown") return { kind: "whole" };
  if (target.kind !== "path") return target;
  const { pattern, touches } = target;
  const namesProtected = protectedPart(literalNames(pattern).join("/")) !== undefined;
  return { kind: "path", touches, matches: compilePathPattern(pattern, place), namesProtected };
}

function toolMatcher(tool: string): (toolName: string) => boolean {
  if (tool.includes("*")) {
    const parts = tool.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const pattern = new RegExp(`^${parts.join("[^]*?")}$`, "u");
    return (toolName) => pattern.test(toolName);
  }
  if (/^mcp__(?!.*__)/.test(tool)) return (toolName) => toolName === tool || toolName.startsWith(`${tool}__`);
  return (toolName) => toolName === tool;
}

function guardedNamesOf({ rule, target }: CompiledRule): GuardedName[] {
  if (target.kind !== "path") return [];
  const parsed = parseRule(rule.text);
  if (!parsed.ok || parsed.target.kind !== "path") return [];
  const telling = tellingName(parsed.target.pattern);
  return telling === undefined ? [] : [{ ...telling, rule }];
}

function sameHomes(left: readonly string[], right: readonly string[]): boolean {
  return left === right || (left.length === right.length && left.every((home, index) => home === right[index]));
}
