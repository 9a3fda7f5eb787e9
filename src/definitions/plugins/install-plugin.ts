import { chmodSync, copyFileSync, lstatSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { createId, errorCode } from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";
import { pluginDirectory } from "./installed-plugins.ts";
import { readPluginRecords, writePluginRecords } from "./plugin-records.ts";
import { readPluginTree } from "./plugin-tree.ts";
import { type Plugin, readPlugin } from "./read-plugin.ts";

export type InstallOutcome =
  | { readonly ok: true; readonly plugin: Plugin; readonly diagnostics: readonly Diagnostic[] }
  | { readonly ok: false; readonly message: string };

/** Copies a plugin's files (no links, no `.git`) to the state directory and records it as disabled. */
export async function installPlugin(
  directory: string,
  { home, source }: { readonly home: string; readonly source: string },
): Promise<InstallOutcome> {
  const { records, problem } = readPluginRecords(home);
  if (problem !== undefined) return { ok: false, message: problem };
  const found = readPlugin(directory);
  if (found.plugin === undefined) return { ok: false, message: describeAll(found.diagnostics) };
  const { name } = found.plugin;
  const target = pluginDirectory(home, name);
  const staging = join(home, "plugins", `.new-${createId()}`);
  try {
    copyPlugin(directory, staging);
    // Check the copy, because the source may have changed in the meantime.
    const copied = readPlugin(staging);
    if (copied.plugin?.name !== name) return { ok: false, message: `${directory} changed while it was copied.` };
    if (records.has(name)) return { ok: false, message: alreadyThere(name) };
    renameSync(staging, target);
    const next = new Map(records).set(name, { source, hash: copied.plugin.hash, enabled: false });
    await writePluginRecords(home, next);
    const { plugin = copied.plugin, diagnostics } = readPlugin(target);
    return { ok: true, plugin, diagnostics };
  } catch (error) {
    const taken = errorCode(error) === "ENOTEMPTY" || errorCode(error) === "EEXIST";
    return { ok: false, message: taken ? alreadyThere(name) : `It can't be copied: ${String(error)}` };
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
  return `A plugin "${name}" is there already. Remove it first: retinue plugins remove ${name}`;
}

function describeAll(diagnostics: readonly Diagnostic[]): string {
  return diagnostics.map(({ message, fix }) => (fix === undefined ? message : `${message} ${fix}`)).join(" ");
}
