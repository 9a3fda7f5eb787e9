import type { PermissionMode, SettingsOrigin } from "../../protocol/index.ts";
import type { PrintOptions } from "../command.ts";

type Flags = Pick<PrintOptions, "model" | "provider" | "effort" | "maxTurns"> & {
  readonly permissionMode?: PermissionMode;
};

const places: Readonly<Record<keyof Flags, { readonly path: string; readonly option: string }>> = {
  model: { path: "model", option: "--model" },
  provider: { path: "provider", option: "--provider" },
  effort: { path: "effort", option: "--effort" },
  maxTurns: { path: "maxTurns", option: "--max-turns" },
  permissionMode: { path: "permissions.defaultMode", option: "--permission-mode" },
};

/** The options that count: what the machine's settings say, no option changes. */
export function heedManaged(
  given: Flags,
  origins: readonly SettingsOrigin[],
): { readonly flags: Flags; readonly notices: readonly string[] } {
  const flags: { -readonly [Name in keyof Flags]: Flags[Name] } = {};
  const notices: string[] = [];
  for (const name of Object.keys(places) as (keyof Flags)[]) {
    if (given[name] === undefined) continue;
    const { path, option } = places[name];
    const managed = origins.find((origin) => origin.path === path && origin.scope === "managed");
    if (managed === undefined) Object.assign(flags, { [name]: given[name] });
    else notices.push(`${option} has no effect: ${managed.file} sets ${path} for this machine.`);
  }
  return { flags, notices };
}
