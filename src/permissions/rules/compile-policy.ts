import { expandBraces, matchParts } from "../../lib/index.ts";
import {
  accessNamed,
  canonicalToolName,
  isSameAgent,
  type Policy,
  type PolicyLayer,
  type Rule,
  type RuledAccess,
} from "../../protocol/index.ts";
import type { CommandPattern } from "./command-pattern.ts";
import type { DomainPattern } from "./domain-pattern.ts";
import { isServerWildcard, parseRule, type RuleTarget } from "./parse-rule.ts";
import {
  compilePathGlob,
  compilePathPattern,
  identifyingName,
  literalNames,
  type PathMatcher,
  type PathPatternOptions,
} from "./path-pattern.ts";
import { protectedPart, repositoryPart } from "./protected-path.ts";

export interface CompiledLayer {
  readonly layer: PolicyLayer;
  readonly rules: readonly CompiledRule[];
}

/** Rules grouped in the order they are applied, with properties that are derived from all of them. */
interface CompiledRules {
  /** Deny rules from lists in settings. Nothing overrides them. */
  readonly vetoes: readonly CompiledRule[];
  /** Allow rules from lists in settings, then the lines of `permissions.jsonc` files. The last match wins. */
  readonly filed: readonly CompiledRule[];
  /** Ask rules from lists in settings. */
  readonly asking: readonly CompiledRule[];
  /**
   * Rules for calls that a person allowed for this session. They apply only where a call would otherwise need approval.
   */
  readonly session: readonly CompiledRule[];
  /** Allow rules from lists, `permissions.jsonc` files and this session, but not from agent definitions (`layers`). */
  readonly allow: readonly CompiledRule[];
  /** True if a restriction depends on which program a command runs, so that commands must not hide the program. */
  readonly limitsCommands: boolean;
  /** True if a rule denies the use of some paths. */
  readonly deniesPaths: boolean;
  readonly guardedNames: readonly GuardedName[];
}

export interface CompiledPolicy extends CompiledRules {
  readonly policy: Policy;
  readonly homes: readonly string[];
  readonly pool: ReadonlySet<string>;
  readonly layers: readonly CompiledLayer[];
  /** All rules that deny something or require approval. */
  readonly restrictions: readonly CompiledRule[];
}

export interface CompiledRule {
  readonly rule: Rule;
  /** True if the rule could not be parsed and therefore applies to the whole tool. */
  readonly broken: boolean;
  /** True for the line `*: allow`, which cancels earlier lines but approves no call that needs approval. */
  readonly opensOnly: boolean;
  readonly coversTool: (toolName: string) => boolean;
  readonly target: CompiledTarget;
}

/** Returns true if the rule is about every use of a tool, or about every access of this kind. */
export function coversWhole({ coversTool, target }: CompiledRule, toolName: string, access?: RuledAccess): boolean {
  if (target.kind !== "whole") return false;
  return coversTool(toolName) || (access !== undefined && target.access === access);
}

type CompiledTarget =
  /** `access`: the tool's name stands for every access of this kind. */
  | { readonly kind: "whole"; readonly access?: RuledAccess | undefined }
  | {
      readonly kind: "path";
      readonly touches: "read" | "write";
      readonly matches: PathMatcher;
      readonly namesProtected: boolean;
    }
  | { readonly kind: "command"; readonly pattern: CommandPattern }
  | { readonly kind: "domain"; readonly pattern: DomainPattern }
  | { readonly kind: "agent"; readonly covers: (agentType: string) => boolean }
  | { readonly kind: "skill"; readonly covers: (name: string) => boolean }
  | { readonly kind: "parameter"; readonly name: string; readonly covers: (value: string) => boolean };

/** A case-folded name that a path restriction spells out. A command that mentions this name needs approval. */
interface GuardedName {
  readonly name: string;
  /** False for a piece of a name, from a pattern such as `.env*`. */
  readonly whole: boolean;
  readonly rule: Rule;
}

/** The directories that relative patterns and `~/` start from. */
interface RuleRoots {
  readonly workspaceRoots: readonly string[];
  readonly homes: readonly string[];
}

const compiled = new WeakMap<Policy, CompiledPolicy>();

/**
 * Returns the compiled policy, cached per object because policies are immutable. `homes` contains the user's home
 * directory, as written and with symlinks resolved.
 */
export function compilePolicy(policy: Policy, homes: readonly string[] = []): CompiledPolicy {
  const known = compiled.get(policy);
  if (known !== undefined && sameTexts(known.homes, homes)) return known;
  const fresh = compile(policy, homes);
  compiled.set(policy, fresh);
  return fresh;
}

function compile(policy: Policy, homes: readonly string[]): CompiledPolicy {
  const roots: RuleRoots = { workspaceRoots: policy.workspaceRoots, homes };
  const { rules, layers = [] } = policy;
  const own = compileRules(rules, roots);
  const layered = layers.map((layer) => ({ layer, compiled: compileRules(layer.rules, roots) }));
  return {
    ...own,
    policy,
    homes: [...homes],
    pool: new Set(policy.pool.map(canonicalToolName)),
    layers: layered.map(({ layer, compiled: { all } }) => ({ layer, rules: all })),
    restrictions: [own, ...layered.map((each) => each.compiled)].flatMap(({ restricting }) => restricting),
    limitsCommands: own.limitsCommands || layered.some((each) => each.compiled.limitsCommands),
    deniesPaths: own.deniesPaths || layered.some((each) => each.compiled.deniesPaths),
    guardedNames: [own, ...layered.map((each) => each.compiled)].flatMap(({ guardedNames }) => guardedNames),
  };
}

interface RootedRules extends CompiledRules {
  readonly roots: RuleRoots;
  /** All rules in the order they were written. */
  readonly all: readonly CompiledRule[];
  readonly restricting: readonly CompiledRule[];
}

/** Caches compiled rules by list and roots, because thousands of agents may share one list of rules. */
const byList = new WeakMap<readonly Rule[], RootedRules[]>();

function compileRules(rules: readonly Rule[], roots: RuleRoots): RootedRules {
  const known = byList.get(rules) ?? [];
  const same = known.find(
    (each) => sameTexts(each.roots.workspaceRoots, roots.workspaceRoots) && sameTexts(each.roots.homes, roots.homes),
  );
  if (same !== undefined) return same;
  const all = rules.flatMap((rule) => compileRule(rule, roots) ?? []);
  const of = (test: (rule: Rule) => boolean) => all.filter(({ rule }) => test(rule));
  const restricting = of(({ effect }) => effect !== "allow");
  const fresh: RootedRules = {
    roots,
    all,
    restricting,
    vetoes: of(({ effect, form }) => effect === "deny" && form === undefined),
    filed: [
      ...of(({ effect, form, scope }) => effect === "allow" && form === undefined && scope !== "session"),
      ...of(({ form }) => form === "compact"),
    ],
    asking: of(({ effect, form }) => effect === "ask" && form === undefined),
    session: of(({ effect, form, scope }) => effect === "allow" && form === undefined && scope === "session"),
    allow: of(({ effect }) => effect === "allow"),
    limitsCommands: restricting.some(({ target }) => target.kind === "command"),
    deniesPaths: restricting.some(({ rule, target }) => rule.effect === "deny" && target.kind === "path"),
    guardedNames: restricting.flatMap(guardedNamesOf),
  };
  byList.set(rules, [...known, fresh].slice(-MAX_ROOTS));
  return fresh;
}

const MAX_ROOTS = 8;

function sameTexts(left: readonly string[], right: readonly string[]): boolean {
  return left === right || (left.length === right.length && left.every((text, index) => text === right[index]));
}

/** Compiles one rule. Returns undefined if the rule has no effect. */
function compileRule(rule: Rule, { workspaceRoots, homes }: RuleRoots): CompiledRule | undefined {
  const parsed = parseRule(rule.text, rule.form);
  const wide = rule.effect !== "allow";
  if (!parsed.ok) {
    if (!wide || parsed.tool === undefined) return undefined;
    const target = { kind: "whole", access: accessNamed(parsed.tool) } as const;
    return { rule, broken: true, opensOnly: false, coversTool: toolMatcher(parsed.tool), target };
  }
  const { tool, target } = parsed;
  if (!wide && (target.kind === "unknown" || target.kind === "parameter")) return undefined;
  const opensOnly = !wide && tool.includes("*") && !isServerWildcard(tool);
  if (opensOnly && rule.form !== "compact") return undefined;
  return {
    rule,
    broken: target.kind === "unknown",
    opensOnly,
    coversTool: toolMatcher(tool),
    target: compileTarget(target, {
      access: accessNamed(tool),
      roots: workspaceRoots,
      homes,
      wide,
      source: sourceOf(rule),
      isGlob: rule.form === "compact",
    }),
  };
}

function guardedNamesOf({ rule, target }: CompiledRule): readonly GuardedName[] {
  if (target.kind !== "path") return [];
  const parsed = parseRule(rule.text, rule.form);
  if (!parsed.ok || parsed.target.kind !== "path") return [];
  const { pattern } = parsed.target;
  return ((rule.form === "compact" ? expandBraces(pattern) : [pattern]) ?? []).flatMap((each) => {
    const found = identifyingName(each);
    return found === undefined ? [] : [{ ...found, rule }];
  });
}

function compileTarget(
  target: RuleTarget,
  {
    access,
    isGlob,
    ...options
  }: PathPatternOptions & { readonly access: RuledAccess | undefined; readonly isGlob: boolean },
): CompiledTarget {
  switch (target.kind) {
    case "whole":
    case "unknown":
      return { kind: "whole", access };
    case "path": {
      const { pattern, touches } = target;
      const matches = isGlob ? compilePathGlob(pattern, options) : compilePathPattern(pattern, options);
      const named = literalNames(pattern).join("/");
      const namesProtected = (protectedPart(named) ?? repositoryPart(named)) !== undefined;
      return { kind: "path", touches, matches, namesProtected };
    }
    case "agent": {
      const covering = target.agentTypes.map((agentType) =>
        agentType.includes("*")
          ? wildcard(agentType, { anyCase: true })
          : (name: string) => isSameAgent(agentType, name),
      );
      return { kind: "agent", covers: (name) => covering.some((covers) => covers(name)) };
    }
    case "skill":
      return { kind: "skill", covers: skillMatcher(target.skill, options) };
    case "parameter":
      return { kind: "parameter", name: target.name, covers: wildcard(target.value, { anyCase: true }) };
    default:
      return target;
  }
}

/**
 * Returns a predicate for skill names. A plugin skill can also be called by its bare name, so a restriction on the bare
 * name applies to the plugin skill too.
 */
function skillMatcher(skill: string, { wide }: { readonly wide: boolean }): (name: string) => boolean {
  const covers = wildcard(skill, { anyCase: true });
  const coversAlone = skill.endsWith(":*") ? wildcard(skill.slice(0, -2), { anyCase: true }) : () => false;
  const isBare = wide && !skill.includes(":");
  return (name) => covers(name) || coversAlone(name) || (isBare && covers(name.slice(name.indexOf(":") + 1)));
}

/** Returns the directory that a rule's file belongs to: `/p` for `/p/.retinue/settings.json`. */
function sourceOf({ file, form }: Rule): string | undefined {
  if (file === undefined || form === "compact" || !file.startsWith("/")) return undefined;
  const directory = file.slice(0, file.lastIndexOf("/"));
  return directory.replace(/\/\.(retinue|claude|agents)$/, "") || "/";
}

function toolMatcher(tool: string): (toolName: string) => boolean {
  if (tool.includes("*")) return wildcard(tool, { anyCase: false });
  if (/^mcp__(?!.*__)/.test(tool)) return (toolName) => toolName === tool || toolName.startsWith(`${tool}__`);
  return (toolName) => toolName === tool;
}

function wildcard(pattern: string, { anyCase }: { readonly anyCase: boolean }): (text: string) => boolean {
  const fold = anyCase ? (text: string) => text.toLowerCase() : (text: string) => text;
  const parts = fold(pattern).split("*");
  if (parts.length === 1) return (text) => fold(text) === parts[0];
  return (text) => matchParts(parts, fold(text));
}
