import type { Effect, RuleScope } from "../../protocol/index.ts";
import type { CompiledLayer, CompiledPolicy, CompiledRule } from "./compile-policy.ts";

/**
 * Returns true if the rule applies to the call. A restriction applies if it may match, an allow rule only if it
 * certainly matches.
 */
export type Matches = (rule: CompiledRule) => boolean;

export interface Verdict {
  readonly effect: Effect;
  readonly rule: CompiledRule;
  /** The layer of the agent definition that contains the rule. */
  readonly layer?: CompiledLayer;
}

/**
 * Returns the combined verdict of all rules; undefined if none applies. A deny from a list or an agent definition is
 * final. Otherwise, rules are applied in this order: definitions, allow rules from lists, `permissions.jsonc` files,
 * ask rules from lists. The last match wins, but an ask never overrides a deny, and trust comes before allow rules. Approvals from this session apply only
 * where a call would otherwise need approval.
 */
export function weighRules(compiled: CompiledPolicy, matches: Matches): Verdict | undefined {
  const veto = compiled.vetoes.find(matches);
  if (veto !== undefined) return { effect: "deny", rule: veto };
  const layered = weighLayers(compiled.layers, matches);
  if (layered?.effect === "deny") return layered;
  const filed = lastMatch(compiled.filed, matches);
  if (filed?.rule.effect === "deny") return { effect: "deny", rule: filed };
  const asked = compiled.asking.find(matches);
  const written = asked ?? (filed?.opensOnly ? undefined : filed);
  const answer = compiled.session.find(matches);
  if (answer !== undefined) return asVerdict(answer);
  return written === undefined || overridesAllow(layered, written) ? layered : asVerdict(written);
}

/**
 * Returns the last match, except that a project's rule never loosens a rule set by the user or the machine's
 * administrator.
 */
export function lastMatch(rules: readonly CompiledRule[], matches: Matches): CompiledRule | undefined {
  let fromProject: CompiledRule | undefined;
  for (let index = rules.length - 1; index >= 0; index -= 1) {
    const each = rules[index]!;
    const isProject = projectScopes.has(each.rule.scope);
    if ((fromProject !== undefined && isProject) || !matches(each)) continue;
    if (fromProject !== undefined)
      return severity[each.rule.effect] > severity[fromProject.rule.effect] ? each : fromProject;
    if (!isProject) return each;
    fromProject = each;
  }
  return fromProject;
}

/**
 * Returns the strictest verdict among the layers, each of which is decided by its last matching rule. Allow rules are
 * ignored except in layers with `settles`.
 */
function weighLayers(layers: readonly CompiledLayer[], matches: Matches): Verdict | undefined {
  let strictest: Verdict | undefined;
  for (const layer of layers) {
    const rule = layer.rules.findLast(matches);
    if (rule === undefined) continue;
    const { effect } = rule.rule;
    if (effect === "deny") return { effect, rule, layer };
    if (effect === "ask" && strictest?.effect !== "ask") strictest = { effect, rule, layer };
    if (effect === "allow" && layer.layer.settles && !rule.opensOnly) strictest ??= { effect, rule, layer };
  }
  return strictest;
}

/**
 * Returns true if an ask rule in a layer overrides an allow rule: one about trust always does, and one in the user's own
 * agent definition overrides the project's rules.
 */
function overridesAllow(layered: Verdict | undefined, written: CompiledRule): boolean {
  if (layered?.effect !== "ask" || written.rule.effect !== "allow") return false;
  const { scope } = layered.rule.rule;
  return scope === "builtin" || (projectScopes.has(written.rule.scope) && !projectScopes.has(scope));
}

function asVerdict(rule: CompiledRule): Verdict {
  return { effect: rule.rule.effect, rule };
}

const severity: Record<Effect, number> = { allow: 0, ask: 1, deny: 2 };
const projectScopes: ReadonlySet<RuleScope> = new Set(["project", "local"]);
