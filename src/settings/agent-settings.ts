import { isRecord } from "../lib/index.ts";
import type { AgentSettings } from "../protocol/index.ts";
import { lineOf } from "./file-rules.ts";
import type { SettingsLayer } from "./merge-settings.ts";

/**
 * Collects the `agents` key from all layers, lowest first. The layers must already be checked, and must not contain
 * anything that a project may not set.
 */
export function agentSettings(layers: readonly SettingsLayer[]): AgentSettings {
  const entries = layers.flatMap((layer) =>
    Object.entries(recordOf(layer.values["agents"])).map(([name, value]) => ({ name, value, layer })),
  );
  const last = new Map(entries.map((each) => [each.name, each]));
  const highest = new Map(
    entries.filter(({ value }) => isRecord(value)).map((each) => [`${sourceOf(each.layer)} ${each.name}`, each]),
  );
  const definitions = layers.flatMap((layer) => {
    const own = [...highest.values()].filter((each) => each.layer === layer);
    if (own.length === 0) return [];
    const agents = Object.fromEntries(own.map(({ name, value }) => [name, value]));
    const { file, text } = layer;
    const lines = text && Object.fromEntries(own.map(({ name }) => [name, lineOf(text, ["agents", name])]));
    return [{ source: sourceOf(layer), file, agents, lines: lines || undefined }];
  });
  const directories = entries.filter(({ name, value }) => name === "directories" && typeof value === "string").at(-1);
  return {
    definitions,
    directories: directories?.value === "merge" ? "merge" : "first",
    replaceBuiltIns: entries.flatMap(({ name, value }) =>
      name === "replaceBuiltIns" && Array.isArray(value) ? (value as readonly string[]) : [],
    ),
    switchedOff: [...last.values()].flatMap(({ name, value, layer }) =>
      value === false ? [{ name, file: layer.file }] : [],
    ),
  };
}

/**
 * Returns a message for each invalid entry, naming its key. An agent may also be named `directories` or
 * `replaceBuiltIns`, because definitions are always objects, and the values of these two options never are.
 */
export function agentProblems(value: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(value).flatMap(([name, each]) => {
    if (isRecord(each)) return [];
    if (name === "directories") return each === "first" || each === "merge" ? [] : [`agents.${name} ${oneOfTwo}`];
    if (name === "replaceBuiltIns") return isListOfTexts(each) ? [] : [`agents.${name} ${listOfNames}`];
    return typeof each === "boolean" ? [] : [`agents.${name.slice(0, 60)} ${definitionOrFalse}`];
  });
}

const oneOfTwo = 'must be "first" or "merge"';
const listOfNames = 'must be a list of plugin agents: ["plugin:name"]';
const definitionOrFalse =
  'must be a definition, {"description": "…", "prompt": "…"}, or false to switch a built-in agent off';

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string" && each !== "");
}

function sourceOf({ scope }: SettingsLayer): "user" | "project" | "flag" | "policy" {
  if (scope === "managed") return "policy";
  if (scope === "project" || scope === "local") return "project";
  return scope === "user" ? "user" : "flag";
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}
