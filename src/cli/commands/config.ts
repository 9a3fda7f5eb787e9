import {
  isIgnored,
  loadProjectSettings,
  originsWithoutSecrets,
  type ProjectSettings,
  ruleProblems,
  withoutSecrets,
} from "../../app/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { printHelp } from "../help/print-help.ts";
import { createOutput, messageLines } from "../output.ts";
import { type HelpRequest, readVerb, refusePositionals } from "../read-options.ts";
import {
  parseSettingsQuery,
  renderOrigins,
  type SettingsQuery,
  type ShownOrigin,
  settingsOptions,
  settingsSources,
} from "./effective-settings.ts";

/** Runs `retinue config show`, which prints the effective settings. */
export async function config(argv: readonly string[]): Promise<number> {
  const command = parseConfig(argv);
  if (command.kind === "help") return printHelp(command.topic);
  const { json, origin } = command;
  const loaded = loadProjectSettings(settingsSources(command));
  await createOutput(process.stderr).write(messageLines([...loaded.notices, ...ruleProblems(loaded)]));
  await createOutput(process.stdout).write(json ? asJson(loaded, origin) : asText(loaded, origin));
  return exitCodes.succeeded;
}

export function parseConfig(argv: readonly string[]): ({ readonly kind: "show" } & SettingsQuery) | HelpRequest {
  const read = readVerb("config", argv, { verbs: { show: settingsOptions } });
  if ("kind" in read) return read;
  refusePositionals(read.options, "config show", 'See "retinue config --help".');
  return { kind: "show", ...parseSettingsQuery(read.options) };
}

function asJson(loaded: ProjectSettings, origin: boolean): string {
  const { settings, files, compact, untrusted, trusted } = loaded;
  const shown = withoutSecrets(settings);
  const all = {
    settings: shown,
    origins: shownOrigins(loaded),
    permissionFiles: compact,
    files,
    trusted,
    untrusted,
  };
  return `${JSON.stringify(origin ? all : shown, null, 2)}\n`;
}

function asText(loaded: ProjectSettings, origin: boolean): string {
  if (loaded.origins.length === 0) return "Nothing is set; the defaults apply.\n";
  return renderOrigins(shownOrigins(loaded), { origin });
}

function shownOrigins(loaded: ProjectSettings): readonly ShownOrigin[] {
  const ignored = isIgnored(loaded);
  const marks = loaded.origins.map((each) => (ignored(each) ? true : undefined));
  return originsWithoutSecrets(loaded.origins).map((each, index) => ({ ...each, ignored: marks[index] }));
}
