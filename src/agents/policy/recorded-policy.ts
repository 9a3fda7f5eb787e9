import type { Policy, PolicyLayer, RecordedPolicy, Rule } from "../../protocol/index.ts";
import { dropsDontAsk, stricter } from "./modes.ts";

/** Returns the part of a policy that is recorded in `run.started`. */
export function recordPolicy({ mode, pool, rules, layers = [], unattended, workspaceRoots }: Policy): RecordedPolicy {
  const [, ...directories] = workspaceRoots;
  return {
    mode,
    pool,
    rules: rules.map(withoutFile),
    directories: noneIfEmpty(directories),
    layers: noneIfEmpty(layers.map((each) => ({ ...each, rules: each.rules.map(withoutFile) }))),
    unattended,
  };
}

/**
 * Returns the intersection of an agent's current policy and the policy of an earlier run. A restriction in either
 * policy applies; a permission must be in both. The workspace and the readable roots are taken from the current policy.
 */
export function narrowTo(policy: Policy, then: RecordedPolicy): Policy {
  const [workspace, ...directories] = policy.workspaceRoots;
  const { rules, denials } = narrowRules(policy.rules, then.rules);
  const layers = narrowLayers([...(policy.layers ?? []), ...denials], then.layers ?? []);
  const mode = stricter(policy.mode, then.mode);
  const isUnattended = policy.unattended || then.unattended || dropsDontAsk([policy.mode, then.mode], mode);
  return {
    ...policy,
    mode,
    pool: policy.pool.filter((tool) => then.pool.includes(tool)),
    rules,
    layers: noneIfEmpty(layers),
    unattended: isUnattended ? true : undefined,
    workspaceRoots: [
      ...(workspace === undefined ? [] : [workspace]),
      ...directories.filter((directory) => then.directories?.includes(directory)),
    ],
  };
}

function noneIfEmpty<Each>(list: readonly Each[]): readonly Each[] | undefined {
  return list.length === 0 ? undefined : list;
}

/**
 * Returns the rules of both policies. If rules that are added from the earlier policy would override denials of the
 * current one, also returns these denials as a layer, which no rule can override.
 */
function narrowRules(
  now: readonly Rule[],
  then: readonly Rule[],
): { readonly rules: readonly Rule[]; readonly denials: readonly PolicyLayer[] } {
  const known = new Set(now.map(keyOf));
  const before = new Set(then.map(keyOf));
  const restrictions = then.filter(({ effect }) => effect !== "allow");
  const kept = now.filter((rule) => rule.effect !== "allow" || before.has(keyOf(rule)));
  // The order of the rules from `permission` fields and `permissions.jsonc` files matters. If it has changed, the
  // earlier restrictions are added last, where they take precedence.
  const isOrdered = linesKey(now) === linesKey(then) || linesKey(kept).endsWith(linesKey(restrictions));
  const isMissing = (rule: Rule): boolean => !known.has(keyOf(rule)) || (rule.form !== undefined && !isOrdered);
  const added = restrictions.filter(isMissing);
  const overridden = kept.filter(({ form, effect }) => form !== undefined && effect === "deny");
  // The last matching line decides, so an added line that asks would weaken a denial in a line before it.
  const isOverriding = added.some(({ form, effect }) => form !== undefined && effect === "ask");
  return { rules: [...kept, ...added], denials: isOverriding && overridden.length > 0 ? [{ rules: overridden }] : [] };
}

function linesKey(rules: readonly Rule[]): string {
  return rulesKey(rules.filter(({ form }) => form !== undefined));
}

/**
 * Combines the layers of both policies. Each layer restricts independently, so all of them apply. Only layers that are
 * in both policies may allow a call without approval.
 */
function narrowLayers(now: readonly PolicyLayer[], then: readonly PolicyLayer[]): readonly PolicyLayer[] {
  // Layers are compared without `settles`, which does not affect what a layer forbids.
  const known = new Set(now.map(({ rules }) => rulesKey(rules)));
  const before = new Set(then.map(layerKey));
  const settlesNothing = ({ rules }: PolicyLayer): PolicyLayer => ({ rules });
  return [
    ...then.filter(({ rules }) => !known.has(rulesKey(rules))).map(settlesNothing),
    ...now.map((layer) => (before.has(layerKey(layer)) ? layer : settlesNothing(layer))),
  ];
}

/**
 * Removes the file from a rule, unless the rule has a path that begins with a single `/`, which is relative to that
 * file.
 */
function withoutFile({ text, effect, scope, file, form }: Rule): Rule {
  return { text, effect, scope, file: /\(\s*\/(?!\/)/.test(text) ? file : undefined, form };
}

function keyOf({ text, effect, scope, form }: Rule): string {
  return JSON.stringify([text, effect, scope, form]);
}

function rulesKey(rules: readonly Rule[]): string {
  return rules.map((rule) => `${keyOf(rule)}\n`).join("");
}

function layerKey({ rules, settles }: PolicyLayer): string {
  return `${settles === true}\n${rulesKey(rules)}`;
}
