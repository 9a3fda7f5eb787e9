import { chmodSync, copyFileSync, existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createId, errorCode, parseJsonc, writeAtomically } from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";
import { isPluginName, type Plugin, readPlugin, readPluginTree } from "./read-plugin.ts";

export interface InstalledPlugin {
  readonly name: string;
  readonly record: PluginRecord;
  /**
   * State of the plugin. A `changed` plugin differs from what was approved, and a `broken` one can't be read. Only
   * `enabled` plugins are used.
   */
  readonly state: "enabled" | "disabled" | "changed" | "broken";
  readonly plugin?: Plugin;
  readonly diagnostics: readonly Diagnostic[];
}

export interface InstalledPlugins {
  readonly plugins: readonly InstalledPlugin[];
  /** Explains why no plugins are used; undefined if there is no problem. */
  readonly problem?: Diagnostic | undefined;
}

/** Returns whether a diagnostic says that a plugin, or all of them, can't be used. */
export function isPluginProblem({ severity, code }: Diagnostic): boolean {
  return severity === "error" && /^(plugins?_|manifest_|no_manifest$)/.test(code);
}

/** Reads every installed plugin, sorted by name. If none is installed, this only checks whether one file exists. */
export function installedPlugins(home: string): InstalledPlugins {
  const { records, problem } = readPluginRecords(home);
  const names = [...records.keys()].sort();
  const plugins = names.map((name) => readInstalled(home, { name, record: records.get(name)! }));
  return { plugins, problem };
}

export function pluginDirectory(home: string, name: string): string {
  return join(home, "plugins", name);
}

function readInstalled(
  home: string,
  { name, record }: { readonly name: string; readonly record: PluginRecord },
): InstalledPlugin {
  const root = pluginDirectory(home, name);
  const report = (code: string, message: string, fix: string): Diagnostic => ({
    severity: "error",
    file: root,
    line: 1,
    code,
    message,
    fix,
  });
  if (!existsSync(root)) {
    const gone = report(
      "plugin_missing",
      `The plugin ${name} is missing.`,
      `Add it again, or remove it: retinue plugins remove ${name}`,
    );
    return { name, record, state: "broken", diagnostics: [gone] };
  }
  const { plugin, diagnostics } = readPlugin(root);
  if (plugin === undefined) {
    const unusable = diagnostics.map((each) => ({
      ...each,
      message: `The plugin ${name} is not used. ${each.message}`,
    }));
    return { name, record, state: "broken", diagnostics: unusable };
  }
  const found = { name, record, plugin };
  if (!record.enabled) return { ...found, state: "disabled", diagnostics };
  if (plugin.hash === record.hash) return { ...found, state: "enabled", diagnostics };
  const fix = `Review it, then approve it again: retinue plugins enable ${name}`;
  const changed = report(
    "plugin_changed",
    `The plugin ${name} has changed since it was approved, so it is disabled.`,
    fix,
  );
  return { ...found, state: "changed", diagnostics: [...diagnostics, changed] };
}

export type InstallOutcome =
  | { readonly ok: true; readonly plugin: Plugin; readonly diagnostics: readonly Diagnostic[] }
  | { readonly ok: false; readonly message: string };

/** Copies a plugin's files (without symlinks and `.git`) to the state directory and records the plugin as disabled. */
export async function installPlugin(
  directory: string,
  { home, source }: { readonly home: string; readonly source: string },
): Promise<InstallOutcome> {
  const { records, problem } = readPluginRecords(home);
  if (problem !== undefined) return { ok: false, message: describeRecordsProblem(problem) };
  const found = readPlugin(directory);
  if (found.plugin === undefined) return { ok: false, message: describeAll(found.diagnostics) };
  const { name } = found.plugin;
  const target = pluginDirectory(home, name);
  const staging = join(home, "plugins", `.new-${createId()}`);
  try {
    copyPlugin(directory, staging);
    // Check the copy, because the source may have changed while it was being copied.
    const copied = readPlugin(staging);
    if (copied.plugin?.name !== name) return { ok: false, message: `${directory} changed while it was being copied.` };
    if (records.has(name)) return { ok: false, message: alreadyThere(name) };
    renameSync(staging, target);
    const next = new Map(records).set(name, { source, hash: copied.plugin.hash, enabled: false });
    await writePluginRecords(home, next);
    const { plugin = copied.plugin, diagnostics } = readPlugin(target);
    return { ok: true, plugin, diagnostics };
  } catch (error) {
    const taken = errorCode(error) === "ENOTEMPTY" || errorCode(error) === "EEXIST";
    return { ok: false, message: taken ? alreadyThere(name) : `The plugin can't be copied: ${String(error)}` };
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function copyPlugin(from: string, to: string): void {
  const tree = readPluginTree(from);
  if (!tree.ok) throw new Error(tree.problem);
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const file of tree.files) {
    const target = join(to, file);
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    copyFileSync(join(from, file), target);
    chmodSync(target, lstatSync(target).mode & 0o100 ? 0o700 : 0o600);
  }
}

function alreadyThere(name: string): string {
  return `A plugin "${name}" already exists. Remove it first: retinue plugins remove ${name}`;
}

function describeAll(diagnostics: readonly Diagnostic[]): string {
  return diagnostics.map(({ message, fix }) => (fix === undefined ? message : `${message} ${fix}`)).join(" ");
}

export interface PluginRecord {
  /** Path or URL that the plugin was installed from. */
  readonly source: string;
  /** Hash of the plugin's content when it was installed or enabled. Any other content is not approved. */
  readonly hash: string;
  readonly enabled: boolean;
}

export interface PluginRecords {
  readonly records: ReadonlyMap<string, PluginRecord>;
  /** Explains why the file can't be read. In that case no plugin is used. */
  readonly problem?: Diagnostic | undefined;
}

export function readPluginRecords(home: string): PluginRecords {
  const file = recordsFile(home);
  const unreadable = (line: number, reason: string): PluginRecords => ({
    records: new Map(),
    problem: {
      severity: "error",
      file,
      line,
      code: "plugins_unreadable",
      message: `No plugin is used, because this file can't be read: ${reason}.`,
      fix: 'Correct the file, or delete it and add the plugins again with "retinue plugins add".',
    },
  });
  try {
    const parsed = parseJsonc(readFileSync(file, "utf8"));
    if ("error" in parsed) return unreadable(parsed.error.line, parsed.error.message);
    const records = recordsOf(parsed.value);
    return records === undefined ? unreadable(1, 'it has no "plugins" object') : { records };
  } catch (error) {
    // Without the file, no plugin is installed. If the state directory is a file (ENOTDIR), other code reports that.
    if (["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "")) return { records: new Map() };
    return unreadable(1, errorCode(error) ?? String(error));
  }
}

/** Describes unreadable records in one line. */
export function describeRecordsProblem({ file, line, message, fix }: Diagnostic): string {
  return `${file}:${line}: ${message} ${fix}`;
}

export async function writePluginRecords(home: string, records: ReadonlyMap<string, PluginRecord>): Promise<void> {
  const plugins = Object.fromEntries([...records].sort(([a], [b]) => (a < b ? -1 : 1)));
  await mkdir(home, { recursive: true, mode: 0o700 });
  await writeAtomically(recordsFile(home), `${JSON.stringify({ version: 1, plugins }, null, 2)}\n`);
}

function recordsFile(home: string): string {
  return join(home, "plugins.json");
}

/** Returns the records in a parsed file; undefined if it has none. */
function recordsOf(value: unknown): PluginRecords["records"] | undefined {
  const { plugins } = (value ?? {}) as { plugins?: unknown };
  if (typeof plugins !== "object" || plugins === null) return undefined;
  const records = new Map<string, PluginRecord>();
  for (const [name, record] of Object.entries(plugins as Record<string, Partial<PluginRecord> | null>)) {
    if (!isPluginName(name) || typeof record?.hash !== "string") continue;
    records.set(name, { source: String(record.source ?? ""), hash: record.hash, enabled: record.enabled === true });
  }
  return records;
}
