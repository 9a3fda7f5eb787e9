import type { ProjectSettings } from "../../protocol/index.ts";
import { loadProjectSettings as loadUnchecked, type ProjectSettingsOptions } from "../../worker/index.ts";
import { aBoolean, anObject, aString, checkOptions, type OptionTypes, optional } from "../check-options.ts";

/**
 * Loads all settings files for a workspace, including its project's trusted files. The notices name files that are ignored. Throws a `UserError` for invalid files and options.
 *
 * ```ts
 * const { settings, rules } = loadProjectSettings({ home, cwd, environment: process.env, trust: false });
 * const session = await openSession({ home, cwd, settings, rules });
 * ```
 */
export function loadProjectSettings(options: ProjectSettingsOptions): ProjectSettings {
  checkOptions("loadProjectSettings", options, types);
  return loadUnchecked(options);
}

const types: OptionTypes<ProjectSettingsOptions> = {
  home: aString,
  cwd: aString,
  environment: anObject,
  trust: aBoolean,
  file: optional(aString),
  flags: optional(anObject),
  managedDirectory: optional(aString),
};
