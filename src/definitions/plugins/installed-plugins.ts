import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Diagnostic } from "../../protocol/index.ts";
import { type PluginRecord, readPluginRecords } from "./plugin-records.ts";
import { type Plugin, readPlugin } from "./read-plugin.ts";

export interface InstalledPlugin {
  readonly name: string;
  readonly record: PluginRecord;
  /** `changed`: differs from what was approved. `broken`: can't be read. Only `enabled` plugins are used. */
  readonly state: "enabled" | "disabled" | "changed" | "broken";
  readonly plugin?: Plugin;
  readonly diagnostics: readonly Diagnostic[];
}

export interface InstalledPlugins {
  readonly plugins: readonly InstalledPlugin[];
  /** Explains why no plugin is used. */
  readonly problem?: string | undefined;
}

/** Reads every installed plugin, sorted by name. Without plugins this only checks for one file. */
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
    const gone = report("plugin_missing", `The plugin ${name} is gone.`, `Add it again, or remove it: ${name}.`);
    return { name, record, state: "broken", diagnostics: [gone] };
  }
  const { plugin, diagnostics } = readPlugin(root);
  if (plugin === undefined) return { name, record, state: "broken", diagnostics };
  const found = { name, record, plugin };
  if (!record.enabled) return { ...found, state: "disabled", diagnostics };
  if (plugin.hash === record.hash) return { ...found, state: "enabled", diagnostics };
  const fix = `Look at it, then approve it again: retinue plugins enable ${name}`;
  const changed = report("plugin_changed", `The plugin ${name} is not what was approved, so it is off.`, fix);
  return { ...found, state: "changed", diagnostics: [...diagnostics, changed] };
}
