import type { PermissionMode, Policy, RecordedPolicy, RecordedRule, Rule } from "../protocol/index.ts";
import { freedom } from "./choose-mode.ts";

/** `Rule`s with their effects; in each layer a tool that is named may do only what one of its rules covers. */
export type Limits = readonly (readonly Rule[])[];

/** Small JSON for `run.started`. */
export function recordPolicy({ mode, pool, rules, workspaceRoots }: Policy, limits: Limits = []): RecordedPolicy {
  const [, ...directories] = workspaceRoots;
  return {
    mode,
    pool,
    rules: rules.map(withoutFile),
    ...(directories.length === 0 ? {} : { directories }),
    ...(limits.length === 0 ? {} : { limits: limits.map((layer) => layer.map(withoutFile)) }),
  };
}

/**
 * The intersection of what an agent is allowed now and what it was allowed then: a restriction of either holds, a
 * permission counts where both give it. Where the workspace is, and what of the session's own files may be read, is of now.
 */
export function narrowTo(policy: Policy, then: RecordedPolicy): Policy {
  const known = new Set(policy.rules.map(keyOf));
  const before = new Set(then.rules.map(keyOf));
  const [workspace, ...directories] = policy.workspaceRoots;
  return {
    ...policy,
    mode: stricter(policy.mode, then.mode),
    pool: policy.pool.filter((tool) => then.pool.includes(tool)),
    rules: [
      ...policy.rules.filter((rule) => rule.effect !== "allow" || before.has(keyOf(rule))),
      ...then.rules.filter((rule) => rule.effect !== "allow" && !known.has(keyOf(rule))),
    ],
    workspaceRoots: [
      ...(workspace === undefined ? [] : [workspace]),
      ...directories.filter((directory) => then.directories?.includes(directory)),
    ],
  };
}

/** All layers of both: each narrows by itself. */
export function narrowLimits(limits: Limits, { limits: before = [] }: RecordedPolicy): Limits {
  const known = new Set(limits.map(layerKey));
  return [...limits, ...before.filter((layer) => !known.has(layerKey(layer)))];
}

export function stricter(left: PermissionMode, right: PermissionMode): PermissionMode {
  return freedom[left] <= freedom[right] ? left : right;
}

function withoutFile({ text, effect, scope }: Rule): RecordedRule {
  return { text, effect, scope };
}

function keyOf({ text, effect, scope }: RecordedRule): string {
  return JSON.stringify([text, effect, scope]);
}

function layerKey(layer: readonly RecordedRule[]): string {
  return JSON.stringify(layer.map(keyOf).sort());
}
