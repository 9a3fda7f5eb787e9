import type { SettingsOrigin } from "../../protocol/index.ts";
import type { SessionOptions } from "../opening/session-options.ts";

/** Session options that correspond to settings. An administrator's managed settings override them. */
export type ManageableOptions = Pick<
  SessionOptions,
  "agent" | "model" | "provider" | "effort" | "maxTurns" | "permissionMode"
>;

const settingsOf: Readonly<Record<keyof ManageableOptions, string>> = {
  agent: "agent",
  model: "model",
  provider: "provider",
  effort: "effort",
  maxTurns: "maxTurns",
  permissionMode: "permissions.defaultMode",
};

/** An option that has no effect, because managed settings override it. */
export interface OverriddenOption {
  readonly name: keyof ManageableOptions;
  /** Path of the setting, such as `permissions.defaultMode`. */
  readonly path: string;
  /** File that contains the setting. */
  readonly file: string | undefined;
}

/** Leaves out the options that managed settings override. */
export function withoutManaged(
  given: ManageableOptions,
  origins: readonly SettingsOrigin[],
): { readonly unmanaged: ManageableOptions; readonly overridden: readonly OverriddenOption[] } {
  const unmanaged: { -readonly [Name in keyof ManageableOptions]: ManageableOptions[Name] } = {};
  const overridden: OverriddenOption[] = [];
  for (const name of Object.keys(settingsOf) as (keyof ManageableOptions)[]) {
    if (given[name] === undefined) continue;
    const path = settingsOf[name];
    const managed = origins.find((origin) => origin.path === path && origin.scope === "managed");
    if (managed === undefined) Object.assign(unmanaged, { [name]: given[name] });
    else overridden.push({ name, path, file: managed.file });
  }
  return { unmanaged, overridden };
}
