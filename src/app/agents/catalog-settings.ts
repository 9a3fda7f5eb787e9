import { type BuiltInChoice, builtInAgents, type Catalog, type CatalogEntry } from "../../definitions/index.ts";
import { misspelledName } from "../../lib/index.ts";
import type { Diagnostic, LoadedSettings, SettingsOrigin } from "../../protocol/index.ts";

/** A built-in agent that settings disable. */
export interface SwitchedOff {
  readonly name: string;
  /** One sentence that tells the user why the agent is disabled. */
  readonly reason: string;
}

/** The settings that determine which agents are available. */
export interface CatalogSettings {
  readonly builtIn: BuiltInChoice;
  readonly replaceBuiltIns: readonly string[];
  readonly origins: readonly SettingsOrigin[];
  readonly switchedOff: readonly SwitchedOff[];
  /** Reports settings that have no effect on the loaded agents, and settings files that could not be read. */
  diagnosticsFor(catalog: Catalog<CatalogEntry>): readonly Diagnostic[];
}

export function catalogSettings(
  { agents, origins, settings, problems }: Pick<LoadedSettings, "agents" | "origins" | "settings" | "problems">,
  { profile = settings.profile, disabled = [], entryPoint }: BuiltInChoice = {},
): CatalogSettings {
  const noGuide = settings.subagents?.guide === false && entryPoint === undefined;
  const all = builtInAgents({ profile, entryPoint });
  const switchedOff = agents.switchedOff.flatMap(({ name, file = "the program" }): SwitchedOff[] => {
    const agent = all.find(({ definition, aliases }) => definition.name === name || aliases.includes(name));
    return agent ? [{ name: agent.definition.name, reason: `${file} sets "agents": {"${name}": false}.` }] : [];
  });
  return {
    builtIn: {
      profile,
      disabled: [...disabled, ...agents.switchedOff.map(({ name }) => name), ...(noGuide ? [guide] : [])],
      entryPoint,
    },
    replaceBuiltIns: agents.replaceBuiltIns,
    origins,
    switchedOff: noGuide
      ? [...switchedOff, { name: guide, reason: 'Your settings contain "subagents": {"guide": false}.' }]
      : switchedOff,
    diagnosticsFor: (catalog) => [
      ...problems.map(unreadSettings),
      ...agents.switchedOff.flatMap((each) => (isBuiltIn(each.name) ? [] : [switchedNothingOff(each)])),
      ...agents.replaceBuiltIns.flatMap((name) => (replaces(name, catalog) ? [] : [replacesNothing(name)])),
    ],
  };
}

const guide = "retinue-guide";

function isBuiltIn(name: string): boolean {
  const known = [...builtInAgents(), ...builtInAgents({ profile: "compact" })];
  return known.some(({ definition, aliases }) => definition.name === name || aliases.includes(name));
}

function replaces(name: string, { overrides }: Catalog<CatalogEntry>): boolean {
  return overrides.some(({ winner, rule }) => rule === "opt-in" && winner.definition.name === name);
}

/**
 * Converts a problem to a diagnostic. The problem's text begins with the file and usually a line number, which are
 * separate fields of a diagnostic.
 */
function unreadSettings(problem: string): Diagnostic {
  const place = /^(?<file>.+?\.jsonc?)(?::(?<line>\d+))?(?::\d+)?: (?<message>.*)$/s.exec(problem)?.groups;
  const { file = "settings", line = "1", message = problem } = place ?? {};
  return { severity: "error", file, line: Number(line), code: "settings_unreadable", message };
}

function switchedNothingOff({ name, file = "settings" }: { name: string; file?: string | undefined }): Diagnostic {
  const meant = misspelledName(
    name,
    builtInAgents().map(({ definition }) => definition.name),
  );
  return {
    severity: "warning",
    file,
    line: 1,
    code: "switched_nothing_off",
    message: `"agents": {"${name}": false} has no effect: no built-in agent has this name.`,
    fix:
      meant === undefined
        ? `To prevent an agent from being used, deny it: "permissions": {"deny": ["Task(${name})"]}.`
        : `Did you mean "${meant}"?`,
  };
}

function replacesNothing(name: string): Diagnostic {
  return {
    severity: "warning",
    file: "settings",
    line: 1,
    code: "replaces_nothing",
    message: `agents.replaceBuiltIns names "${name}", which does not replace a built-in agent.`,
    fix: 'Name an agent from an enabled plugin that has the same name as a built-in agent, such as "plugin:Explore".',
  };
}
