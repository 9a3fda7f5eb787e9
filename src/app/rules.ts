import type { Effect, PermissionSettings, Rule, RuleScope } from "../protocol/index.ts";

export interface RuleFlags {
  /** Those of settings, with their scopes; they take the place of the lists in `permissions`. */
  readonly rules?: readonly Rule[];
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
}

/** Every rule of this session, each with where it comes from; and what is wrong with any of them. */
export async function collectRules(
  permissions: PermissionSettings,
  flags: RuleFlags,
  file: string | undefined,
): Promise<{ readonly rules: readonly Rule[]; readonly problems: readonly string[] }> {
  const own = flags.rules ?? [
    ...listed(permissions.allow, { effect: "allow", scope: "user", file }),
    ...listed(permissions.ask, { effect: "ask", scope: "user", file }),
    ...listed(permissions.deny, { effect: "deny", scope: "user", file }),
  ];
  const rules = [
    ...own,
    ...listed(flags.allowedTools, { effect: "allow", scope: "flag", file: undefined }),
    ...listed(flags.disallowedTools, { effect: "deny", scope: "flag", file: undefined }),
  ];
  if (rules.length === 0) return { rules, problems: [] };
  const { checkRules } = await import("../permissions/index.ts");
  return { rules, problems: checkRules(rules).map((problem) => problem.message) };
}

interface Source {
  readonly effect: Effect;
  readonly scope: RuleScope;
  readonly file: string | undefined;
}

function listed(texts: readonly string[] | undefined, { effect, scope, file }: Source): Rule[] {
  return (texts ?? []).map((text) => ({ text, effect, scope, ...(file === undefined ? {} : { file }) }));
}
