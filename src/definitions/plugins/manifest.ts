import type { Diagnostic } from "../../protocol/index.ts";

export interface PluginDependency {
  readonly name: string;
  readonly version?: string | undefined;
}

/** The manifest of a plugin. */
export interface PluginManifest {
  readonly name: string;
  readonly version?: string | undefined;
  readonly description?: string | undefined;
  readonly dependencies: readonly PluginDependency[];
}

export interface CheckedManifest {
  readonly manifest?: PluginManifest;
  readonly raw: Readonly<Record<string, unknown>>;
  readonly diagnostics: readonly Diagnostic[];
}

export function checkManifest(value: unknown, file: string): CheckedManifest {
  const error = (code: string, message: string, fix: string): CheckedManifest => ({
    raw: {},
    diagnostics: [{ severity: "error", file, line: 1, code, message, fix }],
  });
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return error("manifest_shape", "The manifest is not an object.", 'Write {"name": "…"}.');
  }
  const raw = value as Record<string, unknown>;
  const { name, version, description } = raw as { name?: unknown; version?: unknown; description?: unknown };
  if (typeof name !== "string" || !isPluginName(name)) {
    const fix = "Use small letters, digits and hyphens, at most 64.";
    return error("plugin_name", `The plugin's name ${JSON.stringify(name) ?? "is missing and"} can't be used.`, fix);
  }
  const unused = Object.keys(raw).filter((key) => !known.has(key));
  const message = `Not used here: ${unused.join(", ")}.`;
  const notice: Diagnostic = { severity: "notice", file, line: 1, code: "unused_fields", message };
  return {
    raw,
    manifest: {
      name,
      version: textOf(version),
      description: textOf(description),
      dependencies: dependenciesOf(raw["dependencies"]),
    },
    diagnostics: unused.length === 0 ? [] : [notice],
  };
}

/** Returns true for a valid name: it becomes a directory name and the prefix of the plugin's agents. */
export function isPluginName(name: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,63}$/.test(name);
}

const known = new Set(
  "name displayName version description author homepage repository license keywords metadata agents skills hooks mcpServers dependencies".split(
    " ",
  ),
);

/** Reads `["a", "b@^1"]`, `[{name, version}]` or `{"a": "^1"}`. */
function dependenciesOf(value: unknown): PluginDependency[] {
  if (Array.isArray(value)) return value.flatMap(dependencyOf);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, version]) => dependencyOf({ name, version }));
}

function dependencyOf(value: unknown): PluginDependency[] {
  if (typeof value === "string") {
    const [name = "", version] = value.split(/@(?=[^@]*$)/);
    return name === "" ? [] : [{ name, version: version || undefined }];
  }
  if (typeof value !== "object" || value === null) return [];
  const { name, version } = value as { name?: unknown; version?: unknown };
  if (typeof name !== "string") return [];
  return [{ name, version: textOf(version) }];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
