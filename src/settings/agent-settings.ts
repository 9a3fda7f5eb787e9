import type { SettingsLayer } from "./merge-settings.ts";

/** The settings key `agents`: definitions by name, names that are switched off, and two words about all of them. */
export interface AgentSettings {
  /** What each file defines, lowest first; of one name in files of the same source only the highest. */
  readonly definitions: readonly {
    readonly source: "user" | "project" | "flag" | "policy";
    /** Absent: given by the program. */
    readonly file?: string;
    readonly agents: Readonly<Record<string, unknown>>;
  }[];
  readonly directories: "first" | "merge";
  /** Agents of plugins, `plugin:name`, that the user lets take the place of the built-in one. */
  readonly replaceBuiltIns: readonly string[];
  /** `"Explore": false`, where nothing higher says otherwise. */
  readonly switchedOff: readonly { readonly name: string; readonly file?: string }[];
}

/** Lowest layer first, each checked and limited already. */
export function agentSettings(layers: readonly SettingsLayer[]): AgentSettings {
  const said = layers.flatMap((layer) =>
    Object.entries(mappingOf(layer.values["agents"])).map(([name, value]) => ({ name, value, layer })),
  );
  const last = new Map(said.map((each) => [each.name, each]));
  const highest = new Map(
    said.filter(({ value }) => isMapping(value)).map((each) => [`${sourceOf(each.layer)} ${each.name}`, each]),
  );
  const definitions = layers.flatMap((layer) => {
    const own = [...highest.values()].filter((each) => each.layer === layer);
    if (own.length === 0) return [];
    const agents = Object.fromEntries(own.map(({ name, value }) => [name, value]));
    return [{ source: sourceOf(layer), ...fileOf(layer), agents }];
  });
  const directories = said.filter(({ name, value }) => name === "directories" && typeof value === "string").at(-1);
  return {
    definitions,
    directories: directories?.value === "merge" ? "merge" : "first",
    replaceBuiltIns: said.flatMap(({ name, value }) =>
      name === "replaceBuiltIns" && Array.isArray(value) ? (value as readonly string[]) : [],
    ),
    switchedOff: [...last.values()].flatMap(({ name, value, layer }) =>
      value === false ? [{ name, ...fileOf(layer) }] : [],
    ),
  };
}

/**
 * What is wrong with the value, each naming its key. A word about all agents is no mapping and an agent is one, so an agent
 * may have any name.
 */
export function agentProblems(value: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(value).flatMap(([name, each]) => {
    if (isMapping(each)) return [];
    if (name === "directories") return each === "first" || each === "merge" ? [] : [`agents.${name} ${oneOfTwo}`];
    if (name === "replaceBuiltIns") return isListOfTexts(each) ? [] : [`agents.${name} ${listOfNames}`];
    return typeof each === "boolean" ? [] : [`agents.${name.slice(0, 60)} ${definitionOrFalse}`];
  });
}

const oneOfTwo = 'must be "first" or "merge"';
const listOfNames = 'must be a list of agents of plugins: ["plugin:name"]';
const definitionOrFalse =
  'must be a definition, {"description": "…", "prompt": "…"}, or false to switch a built-in off';

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string" && each !== "");
}

function sourceOf({ scope }: SettingsLayer): "user" | "project" | "flag" | "policy" {
  if (scope === "managed") return "policy";
  if (scope === "project" || scope === "local") return "project";
  return scope === "user" ? "user" : "flag";
}

function fileOf({ file }: SettingsLayer): { readonly file?: string } {
  return file === undefined ? {} : { file };
}

function mappingOf(value: unknown): Readonly<Record<string, unknown>> {
  return isMapping(value) ? value : {};
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
