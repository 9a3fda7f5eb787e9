import { plural, UserError } from "../lib/index.ts";
import type { LoadedSettings, Rule, Settings } from "../protocol/index.ts";
import { agentSettings } from "./agent-settings.ts";
import { checkSettings } from "./check-settings.ts";
import { environmentSettings } from "./environment-settings.ts";
import type { ProjectTrust } from "./limit-project.ts";
import { boundBudgets, mergeSettings, type SettingsLayer } from "./merge-settings.ts";
import { type ParsedFile, parseSettingsFile } from "./parse-settings-file.ts";
import { readSettingsFile, type SettingsLocations, settingsFiles } from "./settings-files.ts";

export interface LoadSettingsOptions extends SettingsLocations {
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Settings from the command line or the embedding program, which override every file except managed ones. */
  readonly flags?: Settings | undefined;
  /** Whether the user trusts `cwd`. If not, only the `deny` and `ask` rules in its files take effect. */
  readonly trusted?: boolean | undefined;
  /**
   * Returns the hash of the part of a project's file that the user approved. Without this function, the current content
   * counts as approved.
   */
  readonly approvedHash?: ProjectTrust["approvedHash"] | undefined;
}

/**
 * Loads the user's settings and, with `cwd`, a project's settings. Throws a `UserError` if a file is invalid.
 *
 * ```ts
 * const { settings } = loadSettings({ home: join(homedir(), ".retinue") });
 * ```
 */
export function loadSettings(options: LoadSettingsOptions): LoadedSettings {
  if (typeof options?.home !== "string")
    throw new UserError("loadSettings needs the home option", {
      code: "options",
      fix: "Pass the path of the state directory, such as ~/.retinue.",
      exitCode: 2,
    });
  const loaded = readSettings(options);
  const [first, ...more] = loaded.problems;
  if (first === undefined) return loaded;
  const rest = more.length > 0 ? ` ("retinue doctor" also lists ${plural(more.length, "other problem")}.)` : "";
  throw new UserError(`${first}${rest}`, { code: "settings", exitCode: 2 });
}

/** Reads and merges all settings files. Never throws; broken files are reported in `problems`. */
export function readSettings(options: LoadSettingsOptions): LoadedSettings {
  const { environment = {}, flags = {}, trusted = false, approvedHash } = options;
  const trust: ProjectTrust = { trusted, approvedHash };
  const found = settingsFiles(options).flatMap((file) => {
    const read = readSettingsFile(file);
    if (read === undefined) return [];
    const parsed = "text" in read ? parseSettingsFile(read.text, file, file.above ?? trust) : unread(read.problem);
    return [{ file, ...parsed }];
  });
  const fromEnvironment = environmentSettings(environment);
  const layers = [
    ...found.flatMap(({ layer }) => (layer !== undefined && layer.scope !== "managed" ? [layer] : [])),
    { scope: "environment", values: fromEnvironment.values } as const,
    { scope: "flag", values: { ...flags } } as const,
    ...found.flatMap(({ layer }) => (layer?.scope === "managed" ? [layer] : [])),
  ] satisfies readonly SettingsLayer[];
  const bounded = boundBudgets(layers);
  const compact = found.flatMap((each) => each.compact);
  const own = found.find(({ file, problems }) => file.scope === "user" && file.kind === "retinue" && !problems.length);
  return {
    ...mergeSettings(bounded.layers),
    file: own?.file.path,
    files: found.map(({ file }) => file.path),
    rules: [...found.flatMap(({ rules }) => rules), ...flagRules(flags)],
    compact,
    notices: [...found.flatMap(({ notices }) => notices), ...fromEnvironment.notices, ...bounded.notices],
    problems: [...found.flatMap(({ problems }) => problems), ...checkSettings(flags).problems],
    untrusted: found.flatMap(({ off }) => off),
    approvals: found.flatMap(({ file, approvals }) => (file.above === undefined ? approvals : [])),
    agents: agentSettings(layers),
  };
}

function unread(problem: string): ParsedFile {
  return { rules: [], compact: [], notices: [], problems: [problem], off: [], approvals: [] };
}

function flagRules({ permissions = {} }: Settings): Rule[] {
  return (["allow", "ask", "deny"] as const).flatMap((effect) =>
    (permissions[effect] ?? []).map((text): Rule => ({ text, effect, scope: "flag" })),
  );
}
