import { UserError } from "../lib/index.ts";
import type { PermissionMode, Settings } from "../protocol/index.ts";
import type { Environment } from "./places.ts";

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
