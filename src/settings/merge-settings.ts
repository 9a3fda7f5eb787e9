import type { JsonValue, Settings, SettingsOrigin, SettingsScope } from "../protocol/index.ts";

export interface SettingsLayer {
  readonly scope: SettingsScope;
  readonly file?: string;
  readonly values: Readonly<Record<string, unknown>>;
}

export interface MergedSettings {
  readonly settings: Settings;
  readonly origins: readonly SettingsOrigin[];
}

/** Lowest layer first. Mappings merge, lists add up, of single values the higher wins. The result is frozen through and through. */
export function mergeSettings(layers: readonly SettingsLayer[]): MergedSettings {
  const root: Branch = { kind: "branch", children: new Map() };
  for (const layer of layers) pour(root, layer.values, layer);
  const origins: SettingsOrigin[] = [];
  const settings = build(root, { path: "", origins });
  return { settings: settings as unknown as Settings, origins: Object.freeze(origins) };
}

type Source = Pick<SettingsLayer, "scope" | "file">;
type Node = Branch | { readonly kind: "list"; readonly items: Leaf[] } | Leaf;
interface Branch {
  readonly kind: "branch";
  readonly children: Map<string, Node>;
}
interface Leaf {
  readonly kind: "leaf";
  readonly value: unknown;
  readonly source: Source;
}

function pour(branch: Branch, values: Readonly<Record<string, unknown>>, source: Source): void {
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined) continue;
    const before = branch.children.get(key);
    if (Array.isArray(value)) {
      const items = before?.kind === "list" ? before.items : [];
      const known = new Set(items.map((item) => item.value));
      // A rule said twice is one rule, and belongs to the scope that said it first.
      for (const item of value) if (!known.has(item)) items.push({ kind: "leaf", value: item, source });
      branch.children.set(key, { kind: "list", items });
    } else if (typeof value === "object" && value !== null) {
      const child: Branch = before?.kind === "branch" ? before : { kind: "branch", children: new Map() };
      branch.children.set(key, child);
      pour(child, value as Record<string, unknown>, source);
    } else branch.children.set(key, { kind: "leaf", value, source });
  }
}

function build(node: Node, { path, origins }: { path: string; origins: SettingsOrigin[] }): unknown {
  if (node.kind === "leaf") {
    const value = freezeDeeply(node.value) as JsonValue;
    const { scope, file } = node.source;
    origins.push(Object.freeze({ path, value, scope, ...(file === undefined ? {} : { file }) }));
    return value;
  }
  if (node.kind === "list") {
    return Object.freeze(node.items.map((item, index) => build(item, { path: `${path}[${index}]`, origins })));
  }
  const entries = [...node.children].map(([key, child]): [string, unknown] => [
    key,
    build(child, { path: step(path, key), origins }),
  ]);
  return Object.freeze(Object.fromEntries(entries));
}

function step(path: string, key: string): string {
  if (!/^[\w-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

function freezeDeeply(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const each of Object.values(value)) freezeDeeply(each);
  return Object.freeze(value);
}
