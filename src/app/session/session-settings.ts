import { UserError } from "../../lib/index.ts";
import type { Effect, PermissionMode, PermissionSettings, Rule, RuleScope, Settings } from "../../protocol/index.ts";
import type { Environment } from "../places.ts";

/** The variables of a session: those of the process, and over them those that settings give. */
export function environmentFor({ env }: Settings, environment: Environment): Environment {
  return env === undefined ? environment : { ...environment, ...env };
}

/** Throws where somebody asks for a mode that settings forbid. */
export function checkMode({ permissions = {} }: Settings, asked: PermissionMode | undefined): void {
  const mode = asked ?? permissions.defaultMode;
  if (mode !== "bypassPermissions" || permissions.disableBypassPermissionsMode !== "disable") return;
  throw new UserError("The mode bypassPermissions is switched off by permissions.disableBypassPermissionsMode", {
    code: "settings",
    cure: '"retinue config show --origin" says where. Choose another mode.',
    exitCode: 2,
  });
}

interface RuleFlags {
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
  const { checkRules } = await import("../../permissions/index.ts");
  return { rules, problems: checkRules(rules).map((problem) => problem.message) };
}

interface Source {
  readonly effect: Effect;
  readonly scope: RuleScope;
  readonly file: string | undefined;
}

function listed(texts: readonly string[] | undefined, { effect, scope, file }: Source): Rule[] {
  return (texts ?? []).map((text) => ({ text, effect, scope, file }));
}
