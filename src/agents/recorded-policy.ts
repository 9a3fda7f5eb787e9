import type { PermissionMode, Policy, PolicyLayer, RecordedPolicy, Rule } from "../protocol/index.ts";
import { freedom } from "./choose-mode.ts";

/** Small JSON for `run.started`. */
export function recordPolicy({ mode, pool, rules, layers = [], unattended, workspaceRoots }: Policy): RecordedPolicy {
  const [, ...directories] = workspaceRoots;
  return {
    mode,
    pool,
    rules: rules.map(withoutFile),
    ...(directories.length === 0 ? {} : { directories }),
    ...(layers.length === 0 ? {} : { layers: layers.map((each) => ({ ...each, rules: each.rules.map(withoutFile) })) }),
    ...(unattended ? { unattended } : {}),
  };
}

/**
 * The intersection of what an agent is allowed now and what it was allowed then: a restriction of either holds, a
 * permission counts where both give it. Where the workspace is, and what of the session's own files may be read, is of now.
 */
export function narrowTo(policy: Policy, then: RecordedPolicy): Policy {
  const [workspace, ...directories] = policy.workspaceRoots;
  const layers = narrowLayers(policy.layers ?? [], then.layers ?? []);
  const mode = stricter(policy.mode, then.mode);
  const unattended = policy.unattended || then.unattended || answersNobody([policy.mode, then.mode], mode);
  return {
    ...policy,
    mode,
    pool: policy.pool.filter((tool) => then.pool.includes(tool)),
    rules: narrowRules(policy.rules, then.rules),
    ...(layers.length === 0 ? {} : { layers }),
    ...(unattended ? { unattended: true } : {}),
    workspaceRoots: [
      ...(workspace === undefined ? [] : [workspace]),
      ...directories.filter((directory) => then.directories?.includes(directory)),
    ],
  };
}

export function stricter(left: PermissionMode, right: PermissionMode): PermissionMode {
  return freedom[left] <= freedom[right] ? left : right;
}

/** Mode plan takes the place of dontAsk, whose word about questions stays. */
export function answersNobody(modes: readonly PermissionMode[], chosen: PermissionMode): boolean {
  return chosen !== "dontAsk" && modes.includes("dontAsk");
}

function narrowRules(now: readonly Rule[], then: readonly Rule[]): readonly Rule[] {
  const known = new Set(now.map(keyOf));
  const before = new Set(then.map(keyOf));
  const restrictions = then.filter(({ effect }) => effect !== "allow");
  const kept = now.filter((rule) => rule.effect !== "allow" || before.has(keyOf(rule)));
  // Lines count by their order: where that changed, what restricted then comes last and wins.
  const isOrdered = linesKey(now) === linesKey(then) || linesKey(kept).endsWith(linesKey(restrictions));
  const isMissing = (rule: Rule): boolean => !known.has(keyOf(rule)) || (rule.form !== undefined && !isOrdered);
  return [...kept, ...restrictions.filter(isMissing)];
}

function linesKey(rules: readonly Rule[]): string {
  return rulesKey(rules.filter(({ form }) => form !== undefined));
}

/** Each layer narrows by itself, so those of both hold; a permission that is not of both settles nothing. */
function narrowLayers(now: readonly PolicyLayer[], then: readonly PolicyLayer[]): readonly PolicyLayer[] {
  // Whether it settles anything or not, a layer forbids the same.
  const known = new Set(now.map(({ rules }) => rulesKey(rules)));
  const before = new Set(then.map(layerKey));
  const settlesNothing = ({ rules }: PolicyLayer): PolicyLayer => ({ rules });
  return [
    ...then.filter(({ rules }) => !known.has(rulesKey(rules))).map(settlesNothing),
    ...now.map((layer) => (before.has(layerKey(layer)) ? layer : settlesNothing(layer))),
  ];
}

/** A path that begins with one `/` is meant from where its file stands. */
function withoutFile({ text, effect, scope, file, form }: Rule): Rule {
  const isPlaced = file !== undefined && /\(\s*\/(?!\/)/.test(text);
  return { text, effect, scope, ...(isPlaced ? { file } : {}), ...(form === undefined ? {} : { form }) };
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
