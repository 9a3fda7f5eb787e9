import { isRecord } from "../lib/index.ts";
import {
  DEFAULT_MAX_SPAWNS,
  type JsonValue,
  type Settings,
  type SettingsOrigin,
  type SettingsScope,
} from "../protocol/index.ts";
import { lineOf } from "./file-rules.ts";

export interface SettingsLayer {
  readonly scope: SettingsScope;
  readonly file?: string | undefined;
  /** Content of the file, used to find the lines of keys. */
  readonly text?: string | undefined;
  readonly values: Readonly<Record<string, unknown>>;
}

export interface MergedSettings {
  readonly settings: Settings;
  readonly origins: readonly SettingsOrigin[];
}

/**
 * Merges layers, lowest first: objects are merged, lists are concatenated, other values are replaced. The result is
 * deeply frozen.
 */
export function mergeSettings(layers: readonly SettingsLayer[]): MergedSettings {
  const root: Branch = { kind: "branch", children: new Map() };
  for (const layer of layers) addLayer(root, layer.values, { source: layer, keys: [] });
  const origins: SettingsOrigin[] = [];
  const settings = build(root, { path: "", origins });
  return { settings: settings as unknown as Settings, origins: Object.freeze(origins) };
}

type Source = Pick<SettingsLayer, "scope" | "file" | "text">;
type Node = Branch | { readonly kind: "list"; readonly items: Leaf[] } | Leaf;
interface Branch {
  readonly kind: "branch";
  readonly children: Map<string, Node>;
}
interface Leaf {
  readonly kind: "leaf";
  readonly value: unknown;
  readonly source: Source;
  readonly line?: number | undefined;
}

interface Position {
  readonly source: Source;
  /** Keys that lead from the top of the settings to the object whose values are added. */
  readonly keys: readonly string[];
}

function addLayer(branch: Branch, values: Readonly<Record<string, unknown>>, { source, keys: above }: Position): void {
  const { text } = source;
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined) continue;
    const keys = [...above, key];
    const before = branch.children.get(key);
    if (Array.isArray(value)) {
      const items = before?.kind === "list" ? before.items : [];
      const known = new Set(items.map((item) => item.value));
      // A repeated rule belongs to the first scope that contains it.
      for (const item of value) {
        if (known.has(item)) continue;
        const line = text !== undefined && isRecord(item) ? lineOf(text, [...keys, ...distinctive(item)]) : undefined;
        items.push({ kind: "leaf", value: item, source, line });
      }
      branch.children.set(key, { kind: "list", items });
    } else if (typeof value === "object" && value !== null) {
      const child: Branch = before?.kind === "branch" ? before : { kind: "branch", children: new Map() };
      branch.children.set(key, child);
      addLayer(child, value as Record<string, unknown>, { source, keys });
    } else {
      const line = text === undefined ? undefined : lineOf(text, keys);
      branch.children.set(key, { kind: "leaf", value, source, line });
    }
  }
}

/** Returns the first string in an object and its key, with which the line of the object can be found in the text. */
function distinctive(item: Readonly<Record<string, unknown>>): readonly string[] {
  const [key, value] = Object.entries(item).find(([, each]) => typeof each === "string") ?? [];
  return key === undefined ? [] : [key, String(value)];
}

function build(node: Node, { path, origins }: { path: string; origins: SettingsOrigin[] }): unknown {
  if (node.kind === "leaf") {
    const value = freezeDeeply(node.value) as JsonValue;
    const { scope, file } = node.source;
    origins.push(Object.freeze({ path, value, scope, file, line: node.line }));
    return value;
  }
  if (node.kind === "list") {
    return Object.freeze(node.items.map((item, index) => build(item, { path: `${path}[${index}]`, origins })));
  }
  const entries = [...node.children].map(([key, child]): [string, unknown] => [
    key,
    build(child, { path: childPath(path, key), origins }),
  ]);
  return Object.freeze(Object.fromEntries(entries));
}

function childPath(path: string, key: string): string {
  if (!/^[\w-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

function freezeDeeply(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const each of Object.values(value)) freezeDeeply(each);
  return Object.freeze(value);
}

export interface BoundBudgets {
  readonly layers: readonly SettingsLayer[];
  readonly notices: readonly string[];
}

/**
 * Removes each limit that would raise one from a lower layer, in layers that must not raise limits. `layers` begins with
 * the lowest. A project can only lower the user's limits. Managed settings set a maximum and do not raise a lower limit.
 */
export function boundBudgets(layers: readonly SettingsLayer[]): BoundBudgets {
  const lowest = new Map<string, number>();
  const notices: string[] = [];
  const bounded = layers.map((layer) => {
    if (!("budget" in layer.values || "subagents" in layer.values)) return layer;
    const values: Record<string, unknown> = { ...layer.values };
    for (const [group, names] of groups) {
      const part = values[group];
      if (isRecord(part)) values[group] = boundPart({ layer, group, part, names, lowest, notices });
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

interface BudgetPart {
  readonly layer: SettingsLayer;
  readonly group: string;
  readonly part: Readonly<Record<string, unknown>>;
  readonly names: readonly string[];
  /** Lowest limits found so far, by path. */
  readonly lowest: Map<string, number>;
  readonly notices: string[];
}

function boundPart({ layer, group, part, names, lowest, notices }: BudgetPart): Record<string, unknown> {
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
    if (isProject)
      notices.push(`${layer.file ?? layer.scope}: ${path} ${value} is ignored. ${explainLimit(path, limit)}`);
  }
  return kept;
}

function explainLimit(path: string, limit: number): string {
  return `A project can only lower the limit, which is ${limit}; to raise it, set ${path} in your own settings.`;
}
