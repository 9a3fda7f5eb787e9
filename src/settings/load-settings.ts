import { UserError } from "../lib/index.ts";
import type { Rule, ScopedCompactRule, Settings, SettingsOrigin } from "../protocol/index.ts";
import { type AgentSettings, agentSettings } from "./agent-settings.ts";
import { boundBudgets } from "./bound-budgets.ts";
import { checkSettings } from "./check-settings.ts";
import { environmentSettings } from "./environment-settings.ts";
import type { Approval } from "./limit-project.ts";
import { mergeSettings, type SettingsLayer } from "./merge-settings.ts";
import { type ParsedFile, parseSettingsFile, type Trust } from "./parse-settings-file.ts";
import { readSettingsFile } from "./read-settings-file.ts";
import { type SettingsPlaces, settingsFiles } from "./settings-files.ts";

export interface LoadSettingsOptions extends SettingsPlaces {
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** What the command line or a program says; stronger than every file but managed ones. */
  readonly flags?: Settings;
  /** Whether the user trusts `cwd`. Without that only `deny` and `ask` of its files count. */
  readonly trusted?: boolean;
  /** What the user approved of the project's files, by kind and name; absent: whatever stands there now. */
  readonly approvedHash?: (kind: string, name: string) => string | undefined;
}

export interface LoadedSettings {
  /** Merged and frozen. */
  readonly settings: Settings;
  /** The user's own file; undefined when there is none. */
  readonly file?: string;
  /** Every file that was read, lowest first. */
  readonly files: readonly string[];
  readonly origins: readonly SettingsOrigin[];
  /** Every rule with its scope and file, those of compact files included, as the lists in `settings` have them too. */
  readonly rules: readonly Rule[];
  readonly compact: readonly ScopedCompactRule[];
  /** Things worth one line to the user: unknown keys, an empty file. */
  readonly notices: readonly string[];
  /** What must be repaired first: rules may be in it. */
  readonly problems: readonly string[];
  /** What the project's files say and is off because the project is not trusted. */
  readonly untrusted: readonly string[];
  /** What trusting the workspace now would approve, of its own files only. */
  readonly approvals: readonly Approval[];
  /** The key `agents` of every file, not merged: each definition belongs to its scope. */
  readonly agents: AgentSettings;
}

/** As `readSettings`, for whoever can't go on without rules that may be in a broken file: throws what must be repaired. */
export function loadSettings(options: LoadSettingsOptions): LoadedSettings {
  const loaded = readSettings(options);
  const [first, ...more] = loaded.problems;
  if (first === undefined) return loaded;
  const rest = more.length > 0 ? ` (And ${more.length} more of such files.)` : "";
  throw new UserError(`${first}${rest}`, { code: "settings", exitCode: 2 });
}

/** Reads and merges every settings file. Never throws; what is broken is in `problems`. */
export function readSettings(options: LoadSettingsOptions): LoadedSettings {
  const { environment = {}, flags = {}, trusted = false, approvedHash } = options;
  const trust: Trust = { trusted, approvedHash };
  const found = settingsFiles(options).flatMap((file) => {
    const read = readSettingsFile(file);
    if (read === undefined) return [];
    const its = file.above ?? trust;
    return [{ file, ...("text" in read ? parseSettingsFile(read.text, file, its) : unread(read.problem)) }];
  });
  const fromEnvironment = environmentSettings(environment);
  const layers = [
    ...found.flatMap(({ layer }) => (layer !== undefined && layer.scope !== "managed" ? [layer] : [])),
    { scope: "environment", values: plain(fromEnvironment.settings) } as const,
    { scope: "flag", values: plain(flags) } as const,
    ...found.flatMap(({ layer }) => (layer?.scope === "managed" ? [layer] : [])),
  ] satisfies readonly SettingsLayer[];
  const bounded = boundBudgets(layers);
  const compact = found.flatMap((each) => each.compact);
  const own = found.find(({ file, problems }) => file.scope === "user" && file.kind === "retinue" && !problems.length);
  return {
    ...mergeSettings(bounded.layers),
    ...(own === undefined ? {} : { file: own.file.path }),
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

function plain(settings: Settings): Readonly<Record<string, unknown>> {
  return settings as Readonly<Record<string, unknown>>;
}
