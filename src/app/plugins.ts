import { rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  type InstalledPlugin,
  type InstalledPlugins,
  installedPlugins,
  installPlugin,
  type Plugin,
  pluginDirectory,
  readPlugin,
  readPluginRecords,
  writePluginRecords,
} from "../definitions/index.ts";
import { nearest, UserError } from "../lib/index.ts";
import type { Diagnostic } from "../protocol/index.ts";
import { withFileLock } from "../settings/index.ts";
import { cloneRepository, isRepositoryAddress } from "./clone-repository.ts";
import type { Environment } from "./places.ts";

export type { InstalledPlugin, Plugin };

export function listPlugins(home: string): InstalledPlugins {
  return installedPlugins(home);
}

export interface AddedPlugin {
  readonly plugin: Plugin;
  readonly diagnostics: readonly Diagnostic[];
}

/** Copies a plugin from a directory or a repository, switched off. Throws a `UserError` where that can't be. */
export async function addPlugin(
  source: string,
  { home, environment }: { readonly home: string; readonly environment: Environment },
): Promise<AddedPlugin> {
  const install = async (directory: string, from: string): Promise<AddedPlugin> => {
    const outcome = await inTurn(home, () => installPlugin(directory, { home, source: from }));
    if (!outcome.ok) throw refusal(outcome.message);
    return outcome;
  };
  if (!isRepositoryAddress(source)) return install(directoryAt(source), resolve(source));
  const clone = await cloneRepository(source, environment);
  if (!clone.ok) throw refusal(clone.message);
  try {
    return await install(clone.directory, source);
  } finally {
    clone.remove();
  }
}

function directoryAt(source: string): string {
  const path = resolve(source);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw refusal(`There is no directory ${path}. Name one that holds a plugin, or the address of a git repository.`);
}

export function removePlugin(home: string, name: string): Promise<void> {
  return inTurn(home, async () => {
    const records = recordsWith(home, name);
    rmSync(pluginDirectory(home, name), { recursive: true, force: true });
    records.delete(name);
    await writePluginRecords(home, records);
  });
}

/** Approves what is there now: `hash` is that of the content the user was shown. */
export function enablePlugin(home: string, { name, hash }: { name: string; hash: string }): Promise<void> {
  return inTurn(home, async () => {
    const records = recordsWith(home, name);
    const found = readPlugin(pluginDirectory(home, name)).plugin;
    if (found?.hash !== hash) throw refusal(`The plugin "${name}" changed just now. Look at it again.`);
    records.set(name, { ...records.get(name)!, hash, enabled: true });
    await writePluginRecords(home, records);
  });
}

export function disablePlugin(home: string, name: string): Promise<void> {
  return inTurn(home, async () => {
    const records = recordsWith(home, name);
    records.set(name, { ...records.get(name)!, enabled: false });
    await writePluginRecords(home, records);
  });
}

/** Throws a `UserError` where there is none of that name. */
export function findPlugin(home: string, name: string): InstalledPlugin {
  recordsWith(home, name);
  return installedPlugins(home).plugins.find((each) => each.name === name)!;
}

/** What is read of the records and written back must not be changed by another process in between. */
function inTurn<Result>(home: string, work: () => Promise<Result>): Promise<Result> {
  return withFileLock(join(home, "plugins.json"), work);
}

type Records = Map<string, { source: string; hash: string; enabled: boolean }>;

function recordsWith(home: string, name: string): Records {
  const { records, problem } = readPluginRecords(home);
  if (problem !== undefined) throw refusal(`${problem} Correct or remove the file.`);
  if (records.has(name)) return new Map(records);
  const meant = nearest(name, records.keys())[0];
  const cure = meant === undefined ? '"retinue plugins list" shows them.' : `Did you mean "${meant}"?`;
  throw refusal(`There is no plugin "${name}". ${cure}`);
}

function refusal(message: string): UserError {
  return new UserError(message, { code: "plugin", exitCode: 2 });
}
