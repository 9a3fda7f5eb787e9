import { canonicalToolName, type Policy, type PolicyLayer, type Rule } from "../protocol/index.ts";
import { type CompiledRule, compileRule, type GuardedName, guardedNamesOf, type RulePlace } from "./compile-rule.ts";

export type { CompiledRule } from "./compile-rule.ts";

export interface CompiledLayer {
  readonly layer: PolicyLayer;
  readonly rules: readonly CompiledRule[];
}

/** Rules in the order in which they count, and what is asked of all of them. */
export interface CompiledRules {
  /** Denied by a list: nothing allows it. */
  readonly vetoes: readonly CompiledRule[];
  /** Allowed by lists, then the lines of compact files: the last match wins. */
  readonly filed: readonly CompiledRule[];
  /** Asked about by a list. */
  readonly asking: readonly CompiledRule[];
  /** What a person allowed for this session: it answers what would be asked. */
  readonly session: readonly CompiledRule[];
  /** Of lists, files and this session: layers allow nothing by themselves. */
  readonly allow: readonly CompiledRule[];
  /** Some restriction depends on what a command would run, so commands must show it. */
  readonly limitsCommands: boolean;
  readonly guardedNames: readonly GuardedName[];
}

export interface CompiledPolicy extends CompiledRules {
  readonly policy: Policy;
  readonly homes: readonly string[];
  readonly pool: ReadonlySet<string>;
  readonly layers: readonly CompiledLayer[];
}

const compiled = new WeakMap<Policy, CompiledPolicy>();

/** Policies are frozen data: one object is compiled once. `homes`: the user's home directory, as spelled and resolved. */
export function compilePolicy(policy: Policy, homes: readonly string[] = []): CompiledPolicy {
  const known = compiled.get(policy);
  if (known !== undefined && sameTexts(known.homes, homes)) return known;
  const fresh = compile(policy, homes);
  compiled.set(policy, fresh);
  return fresh;
}

function compile(policy: Policy, homes: readonly string[]): CompiledPolicy {
  const place: RulePlace = { roots: policy.workspaceRoots, homes };
  const { rules, layers = [] } = policy;
  const own = compileRules(rules, place);
  const layered = layers.map((layer) => ({ layer, compiled: compileRules(layer.rules, place) }));
  return {
    ...own,
    policy,
    homes: [...homes],
    pool: new Set(policy.pool.map(canonicalToolName)),
    layers: layered.map(({ layer, compiled: { all } }) => ({ layer, rules: all })),
    limitsCommands: own.limitsCommands || layered.some((each) => each.compiled.limitsCommands),
    guardedNames: [own, ...layered.map((each) => each.compiled)].flatMap(({ guardedNames }) => guardedNames),
  };
}

interface PlacedRules extends CompiledRules {
  readonly place: RulePlace;
  /** As written. */
  readonly all: readonly CompiledRule[];
}

/** A thousand agents share one list of rules: it is compiled once for each place they work in. */
const byList = new WeakMap<readonly Rule[], PlacedRules[]>();

function compileRules(rules: readonly Rule[], place: RulePlace): PlacedRules {
  const known = byList.get(rules) ?? [];
  const same = known.find(
    (each) => sameTexts(each.place.roots, place.roots) && sameTexts(each.place.homes, place.homes),
  );
  if (same !== undefined) return same;
  const all = rules.flatMap((rule) => compileRule(rule, place) ?? []);
  const of = (test: (rule: Rule) => boolean) => all.filter(({ rule }) => test(rule));
  const restricting = of(({ effect }) => effect !== "allow");
  const fresh: PlacedRules = {
    place,
    all,
    vetoes: of(({ effect, form }) => effect === "deny" && form === undefined),
    filed: [
      ...of(({ effect, form, scope }) => effect === "allow" && form === undefined && scope !== "session"),
      ...of(({ form }) => form === "compact"),
    ],
    asking: of(({ effect, form }) => effect === "ask" && form === undefined),
    session: of(({ effect, form, scope }) => effect === "allow" && form === undefined && scope === "session"),
    allow: of(({ effect }) => effect === "allow"),
    limitsCommands: restricting.some(({ target }) => target.kind === "command"),
    guardedNames: restricting.flatMap(guardedNamesOf),
  };
  byList.set(rules, [...known, fresh].slice(-mostPlaces));
  return fresh;
}

const mostPlaces = 8;

function sameTexts(left: readonly string[], right: readonly string[]): boolean {
  return left === right || (left.length === right.length && left.every((text, index) => text === right[index]));
}
