import { isSameAgent, type Rule } from "../protocol/index.ts";
import type { CommandPattern } from "./command-pattern.ts";
import type { DomainPattern } from "./domain-pattern.ts";
import { isServerWildcard, parseRule, type RuleTarget } from "./parse-rule.ts";
import {
  compilePathGlob,
  compilePathPattern,
  expandBraces,
  literalNames,
  type PathMatcher,
  type PathPatternPlace,
  tellingName,
} from "./path-pattern.ts";
import { protectedPart } from "./protected-path.ts";

export interface CompiledRule {
  readonly rule: Rule;
  /** Says that the rule could not be read and holds for the whole tool. */
  readonly broken: boolean;
  /** `*: allow` as a line: it takes back earlier lines, and lets nothing pass that would be asked. */
  readonly opensOnly: boolean;
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
  | { readonly kind: "agent"; readonly covers: (agentType: string) => boolean }
  | { readonly kind: "skill"; readonly covers: (name: string) => boolean }
  | { readonly kind: "parameter"; readonly name: string; readonly covers: (value: string) => boolean };

/** A name that a path restriction spells out, folded; a command that mentions it is not passed unseen. */
export interface GuardedName {
  readonly name: string;
  /** False for a piece of a name, from a pattern such as `.env*`. */
  readonly whole: boolean;
  readonly rule: Rule;
}

/** Where relative patterns start, and what `~/` means. */
export interface RulePlace {
  readonly roots: readonly string[];
  readonly homes: readonly string[];
}

/** Undefined for a rule that has no effect. */
export function compileRule(rule: Rule, { roots, homes }: RulePlace): CompiledRule | undefined {
  const parsed = parseRule(rule.text, rule.form);
  const wide = rule.effect !== "allow";
  if (!parsed.ok) {
    if (!wide || parsed.tool === undefined) return undefined;
    return { rule, broken: true, opensOnly: false, coversTool: toolMatcher(parsed.tool), target: { kind: "whole" } };
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
      roots,
      homes,
      wide,
      source: sourceOf(rule),
      isGlob: rule.form === "compact",
    }),
  };
}

export function guardedNamesOf({ rule, target }: CompiledRule): readonly GuardedName[] {
  if (target.kind !== "path") return [];
  const parsed = parseRule(rule.text, rule.form);
  if (!parsed.ok || parsed.target.kind !== "path") return [];
  const { pattern } = parsed.target;
  return ((rule.form === "compact" ? expandBraces(pattern) : [pattern]) ?? []).flatMap((each) => {
    const telling = tellingName(each);
    return telling === undefined ? [] : [{ ...telling, rule }];
  });
}

function compileTarget(
  target: RuleTarget,
  { isGlob, ...place }: PathPatternPlace & { readonly isGlob: boolean },
): CompiledTarget {
  switch (target.kind) {
    case "unknown":
      return { kind: "whole" };
    case "path": {
      const { pattern, touches } = target;
      const matches = isGlob ? compilePathGlob(pattern, place) : compilePathPattern(pattern, place);
      const namesProtected = protectedPart(literalNames(pattern).join("/")) !== undefined;
      return { kind: "path", touches, matches, namesProtected };
    }
    case "agent": {
      const { agentType } = target;
      if (!agentType.includes("*")) return { kind: "agent", covers: (name) => isSameAgent(agentType, name) };
      return { kind: "agent", covers: wildcard(agentType, { anyCase: true }) };
    }
    case "skill":
      return { kind: "skill", covers: skillMatcher(target.skill, place) };
    case "parameter":
      return { kind: "parameter", name: target.name, covers: wildcard(target.value, { anyCase: true }) };
    default:
      return target;
  }
}

/** A skill of a plugin also answers to its bare name, so a restriction of that name holds for it. */
function skillMatcher(skill: string, { wide }: { readonly wide: boolean }): (name: string) => boolean {
  const covers = wildcard(skill, { anyCase: true });
  const coversAlone = skill.endsWith(":*") ? wildcard(skill.slice(0, -2), { anyCase: true }) : () => false;
  const isBare = wide && !skill.includes(":");
  return (name) => covers(name) || coversAlone(name) || (isBare && covers(name.slice(name.indexOf(":") + 1)));
}

/** The directory that a rule's file speaks for: of `/p/.retinue/settings.json` it is `/p`. */
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

/** Goes from star to star without going back, so that no pattern makes it slow. */
function wildcard(pattern: string, { anyCase }: { readonly anyCase: boolean }): (text: string) => boolean {
  const fold = anyCase ? (text: string) => text.toLowerCase() : (text: string) => text;
  const [head = "", ...parts] = fold(pattern).split("*");
  const tail = parts.pop();
  if (tail === undefined) return (text) => fold(text) === head;
  return (text) => {
    const folded = fold(text);
    if (folded.length < head.length + tail.length || !folded.startsWith(head) || !folded.endsWith(tail)) return false;
    let at = head.length;
    for (const part of parts) {
      const found = folded.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return at <= folded.length - tail.length;
  };
}
