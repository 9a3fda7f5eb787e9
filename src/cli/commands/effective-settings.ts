import { type ProjectSettingsOptions, stateDirectory } from "../../app/index.ts";
import { showExactly } from "../../lib/index.ts";
import type { SettingsOrigin } from "../../protocol/index.ts";
import { directoryOption, helpOption, type OptionKinds, type ReadOptions } from "../read-options.ts";
import { chosenDirectory } from "../real-directory.ts";

/** Options of commands that show a directory's effective settings. */
export const settingsOptions: OptionKinds = {
  json: {},
  origin: {},
  trust: {},
  cwd: directoryOption,
  settings: { value: "FILE" },
  help: helpOption,
};

export interface SettingsQuery {
  readonly json: boolean;
  /** Shows the origin of each value. */
  readonly origin: boolean;
  readonly trust: boolean;
  readonly cwd: string | undefined;
  readonly settings: string | undefined;
}

export function parseSettingsQuery(options: ReadOptions): SettingsQuery {
  return {
    json: options.has("json"),
    origin: options.has("origin"),
    trust: options.has("trust"),
    cwd: options.value("cwd"),
    settings: options.value("settings"),
  };
}

/** Returns the options for `loadProjectSettings`. */
export function settingsSources({ cwd, trust, settings }: SettingsQuery): ProjectSettingsOptions {
  return {
    home: stateDirectory(process.env),
    cwd: chosenDirectory(cwd),
    environment: process.env,
    trust,
    file: settings,
  };
}

export interface ShownOrigin extends SettingsOrigin {
  /** True if the value has no effect. */
  readonly ignored?: true | undefined;
}

/** Renders `path = value` lines, with the origin of each value if requested. */
export function renderOrigins(origins: readonly ShownOrigin[], { origin }: { readonly origin: boolean }): string {
  return origins
    .map(({ path, value, scope, file, ignored }) => {
      const from = origin ? `   (${scope}${file === undefined ? "" : `, ${showExactly(file)}`})` : "";
      return `${showExactly(`${path} = ${JSON.stringify(value)}`)}${ignored ? "   (ignored)" : ""}${from}\n`;
    })
    .join("");
}
