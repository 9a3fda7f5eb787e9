import { accesses as accessesOf, decide, dependsOnGitHooks, pathsOf } from "../permissions/index.ts";
import type { Workspace } from "../ports/index.ts";
import type { Access, Decision, JsonObject, Policy, ResolvedPath } from "../protocol/index.ts";

export interface JudgedCall {
  readonly decision: Decision;
  readonly accesses: readonly Access[];
  readonly resolved: readonly ResolvedPath[];
}

export interface Place {
  readonly workspace: Workspace;
  /** The user's home as spelled and as resolved, for rules with `~/`. */
  readonly homes: readonly string[];
}

/** Which paths, where they lead, what the policy says. */
export function judgeCall(
  call: { readonly toolName: string; readonly input: JsonObject; readonly policy: Policy },
  place: Place,
): Promise<JudgedCall> {
  return judgeAccesses({ ...call, accesses: accessesOf(call.toolName, call.input) }, place);
}

export async function judgeAccesses(
  {
    toolName,
    accesses,
    policy,
  }: { readonly toolName: string; readonly accesses: readonly Access[]; readonly policy: Policy },
  { workspace, homes }: Place,
): Promise<JudgedCall> {
  const paths = pathsOf(accesses);
  const resolved = paths.length === 0 ? [] : await workspace.resolve(paths);
  const request = { toolName, accesses, resolved, policy, homes };
  const decision = decide(request);
  if (!dependsOnGitHooks(decision, accesses)) return { decision, accesses, resolved };
  const changedHooks = (await workspace.changedHooks?.()) ?? [];
  return { decision: decide({ ...request, changedHooks }), accesses, resolved };
}
