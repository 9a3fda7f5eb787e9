import type { Effect, RuleScope } from "../protocol/index.ts";
import type { CompiledLayer, CompiledPolicy, CompiledRule } from "./compile-policy.ts";

/** Whether a rule is about what is judged: a restriction where it may be, a permission where it surely is. */
export type Matches = (rule: CompiledRule) => boolean;

export interface Verdict {
  readonly effect: Effect;
  readonly rule: CompiledRule;
  /** The definition's layer that it stands in. */
  readonly layer?: CompiledLayer;
}

/**
 * What all rules together say about one thing; undefined where none is about it. Deny of lists and of definitions is a
 * veto. Else definitions come first, then what lists allow, then compact files in their order, then what lists ask about:
 * the last match wins, but an ask never takes back a deny. This session's own word answers only what would be asked.
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
  return written === undefined || holdsAgainst(layered, written) ? layered : asVerdict(written);
}

/** The last match; but a project's word does not take back what a person or who manages the machine restricts further. */
export function lastMatch(rules: readonly CompiledRule[], matches: Matches): CompiledRule | undefined {
  let projects: CompiledRule | undefined;
  for (let index = rules.length - 1; index >= 0; index -= 1) {
    const each = rules[index]!;
    const isProjects = ofProject.has(each.rule.scope);
    if ((projects !== undefined && isProjects) || !matches(each)) continue;
    if (projects !== undefined) return severity[each.rule.effect] > severity[projects.rule.effect] ? each : projects;
    if (!isProjects) return each;
    projects = each;
  }
  return projects;
}

/** The strictest of what the layers say, each by its own last match. An allow counts only where it settles something. */
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

/** A definition of the user's own that asks is not overruled by what the project allows. */
function holdsAgainst(layered: Verdict | undefined, written: CompiledRule): boolean {
  if (layered?.effect !== "ask" || written.rule.effect !== "allow") return false;
  return ofProject.has(written.rule.scope) && !ofProject.has(layered.rule.rule.scope);
}

function asVerdict(rule: CompiledRule): Verdict {
  return { effect: rule.rule.effect, rule };
}

const severity: Record<Effect, number> = { allow: 0, ask: 1, deny: 2 };
const ofProject: ReadonlySet<RuleScope> = new Set(["project", "local"]);
