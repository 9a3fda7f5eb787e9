import { DEFAULT_MAX_SPAWNS } from "../protocol/index.ts";
import type { SettingsLayer } from "./merge-settings.ts";

export interface BoundBudgets {
  readonly layers: readonly SettingsLayer[];
  readonly notices: readonly string[];
}

/**
 * Who pays says how much: a project's files can lower what the user set, never raise it, and the machine's managed
 * files are a ceiling, not a wish. Lowest layer first, as for merging; gives the layers without what must not count.
 */
export function boundBudgets(layers: readonly SettingsLayer[]): BoundBudgets {
  const lowest = new Map<string, number>();
  const notices: string[] = [];
  const bounded = layers.map((layer) => {
    if (!("budget" in layer.values || "subagents" in layer.values)) return layer;
    const values: Record<string, unknown> = { ...layer.values };
    for (const [group, names] of groups) {
      const part = values[group];
      if (isMapping(part)) values[group] = boundPart({ layer, group, part, names, lowest, notices });
    }
    return { ...layer, values };
  });
  return { layers: bounded, notices };
}

const groups = [
  ["budget", ["tokens", "usd", "turns", "seconds", "spawns", "concurrent"]],
  ["subagents", ["maxSpawns"]],
] as const;

const defaults: Readonly<Record<string, number>> = { "subagents.maxSpawns": DEFAULT_MAX_SPAWNS };

interface Part {
  readonly layer: SettingsLayer;
  readonly group: string;
  readonly part: Readonly<Record<string, unknown>>;
  readonly names: readonly string[];
  /** By path, what counts so far. */
  readonly lowest: Map<string, number>;
  readonly notices: string[];
}

function boundPart({ layer, group, part, names, lowest, notices }: Part): Record<string, unknown> {
  const kept = { ...part };
  for (const name of names) {
    const value = kept[name];
    if (typeof value !== "number") continue;
    const path = `${group}.${name}`;
    const before = lowest.get(path);
    const isProject = layer.scope === "project" || layer.scope === "local";
    const limit = before ?? (isProject ? defaults[path] : undefined);
    if (limit === undefined || value <= limit || !(isProject || layer.scope === "managed")) {
      lowest.set(path, value);
      continue;
    }
    delete kept[name];
    if (isProject) notices.push(`${layer.file ?? layer.scope}: ${path} ${value} is ignored. ${cure(path, limit)}`);
  }
  return kept;
}

function cure(path: string, limit: number): string {
  return `A project can only lower the limit, which is ${limit}; to raise it, set ${path} in your own settings.`;
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
