import type { Access, Decision, Effect, ResolvedPath, RuleScope } from "../protocol/index.ts";
import type { CompiledRule } from "./compile-policy.ts";

/** One access of one tool, with the place its path leads to. */
export interface Touch {
  readonly toolName: string;
  readonly access: Access;
  readonly place: ResolvedPath | undefined;
}

/**
 * What rules and built-in rules say before the mode is asked.
 * `open`: nobody decided, the mode does. `insist`: an ask that no mode but a person settles.
 */
export interface Finding {
  readonly effect: Effect | "open" | "insist";
  readonly rule: string;
  readonly scope: RuleScope;
  readonly reason: string;
}

export function builtin(effect: Finding["effect"], rule: string, reason: string): Finding {
  return { effect, rule, scope: "builtin", reason };
}

export function byRule({ rule, broken }: CompiledRule, what: string): Finding {
  const where = rule.file === undefined ? `${rule.scope} scope` : `${rule.scope} scope, ${rule.file}`;
  const doing = { allow: "allows", ask: "asks about", deny: "denies" }[rule.effect];
  const note = broken ? " (its specifier can't be read, so it holds for the whole tool)" : "";
  const effect = rule.effect === "ask" ? "insist" : rule.effect;
  return {
    effect,
    rule: rule.text,
    scope: rule.scope,
    reason: `The rule \`${rule.text}\` (${where}) ${doing} ${what}${note}.`,
  };
}

export function asDecision(finding: Finding, effect: Effect, reason = finding.reason): Decision {
  return { effect, rule: finding.rule, scope: finding.scope, reason };
}
