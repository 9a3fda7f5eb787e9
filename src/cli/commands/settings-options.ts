import type { OptionKind, ReadOptions } from "../read-options.ts";

/** Of commands that show what settings come to in a directory. */
export const settingsOptions: Readonly<Record<string, OptionKind>> = {
  json: {},
  origin: {},
  trust: {},
  cwd: { value: "DIRECTORY", short: "C" },
  settings: { value: "FILE" },
  help: { short: "h" },
};

export interface SettingsQuestion {
  readonly json: boolean;
  readonly origin: boolean;
  readonly trust: boolean;
  readonly cwd?: string;
  readonly settings?: string;
}

export function settingsQuestion(options: ReadOptions): SettingsQuestion {
  const cwd = options.value("cwd");
  const settings = options.value("settings");
  return {
    json: options.has("json"),
    origin: options.has("origin"),
    trust: options.has("trust"),
    ...(cwd === undefined ? {} : { cwd }),
    ...(settings === undefined ? {} : { settings }),
  };
}
