import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import {
  describeRecordsProblem,
  type InstalledPlugin,
  installedPlugins,
  installPlugin,
  type Plugin,
  pluginDirectory,
  readPlugin,
  readPluginRecords,
  writePluginRecords,
} from "../../definitions/index.ts";
import {
  createId,
  maskAddresses,
  nearest,
  startProcess,
  stripControls,
  UserError,
  withFileLock,
} from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";
import { scrubEnvironment } from "../../workspace/index.ts";
import type { Environment } from "../directories.ts";

export type { InstalledPlugin, Plugin };

/** Returns all installed plugins. Throws a `UserError` if their records can't be read. */
export function listPlugins(home: string): readonly InstalledPlugin[] {
  const { plugins, problem } = installedPlugins(home);
  if (problem !== undefined) throw refusal(describeRecordsProblem(problem));
  return plugins;
}

export interface AddedPlugin {
  readonly plugin: Plugin;
  readonly diagnostics: readonly Diagnostic[];
}

/** Installs a plugin from a directory or a git repository, without enabling it. Throws a `UserError` if that fails. */
export async function addPlugin(
  source: string,
  { home, environment }: { readonly home: string; readonly environment: Environment },
): Promise<AddedPlugin> {
  const install = async (directory: string, from: string): Promise<AddedPlugin> => {
    const outcome = await withRecordsLock(home, () => installPlugin(directory, { home, source: from }));
    if (!outcome.ok) throw refusal(outcome.message);
    return outcome;
  };
  if (!isRepositoryAddress(source)) return install(directoryAt(source), resolve(source));
  const clone = await cloneRepository(source, environment);
  if (!clone.ok) throw refusal(clone.message);
  try {
    return await install(clone.directory, maskAddresses(source));
  } finally {
    clone.remove();
  }
}

function directoryAt(source: string): string {
  const path = resolve(source);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw refusal(
    `There is no directory ${path}. Specify a directory that contains a plugin, or the URL of a git repository.`,
  );
}

export function removePlugin(home: string, name: string): Promise<void> {
  return withRecordsLock(home, async () => {
    const records = recordsWith(home, name);
    rmSync(pluginDirectory(home, name), { recursive: true, force: true });
    records.delete(name);
    await writePluginRecords(home, records);
  });
}

/** Approves a plugin's current content. `hash` identifies the content that was shown to the user. */
export function enablePlugin(home: string, { name, hash }: { name: string; hash: string }): Promise<void> {
  return withRecordsLock(home, async () => {
    const records = recordsWith(home, name);
    const found = readPlugin(pluginDirectory(home, name)).plugin;
    if (found?.hash !== hash) throw refusal(`The plugin "${name}" has just changed. Review it again.`);
    records.set(name, { ...records.get(name)!, hash, enabled: true });
    await writePluginRecords(home, records);
  });
}

export function disablePlugin(home: string, name: string): Promise<void> {
  return withRecordsLock(home, async () => {
    const records = recordsWith(home, name);
    records.set(name, { ...records.get(name)!, enabled: false });
    await writePluginRecords(home, records);
  });
}

/** Returns an installed plugin. Throws a `UserError` if there is no plugin with this name. */
export function findPlugin(home: string, name: string): InstalledPlugin {
  recordsWith(home, name);
  return installedPlugins(home).plugins.find((each) => each.name === name)!;
}

/** Prevents other processes from changing the records between the read and the write. */
function withRecordsLock<Result>(home: string, work: () => Promise<Result>): Promise<Result> {
  return withFileLock(join(home, "plugins.json"), work);
}

type Records = Map<string, { source: string; hash: string; enabled: boolean }>;

function recordsWith(home: string, name: string): Records {
  const { records, problem } = readPluginRecords(home);
  if (problem !== undefined) throw refusal(describeRecordsProblem(problem));
  if (records.has(name)) return new Map(records);
  const meant = nearest(name, records.keys())[0];
  const fix = meant === undefined ? '"retinue plugins list" shows the installed plugins.' : `Did you mean "${meant}"?`;
  throw refusal(`There is no plugin "${name}". ${fix}`);
}

function refusal(message: string): UserError {
  return new UserError(message, { code: "plugin", exitCode: 2 });
}

type Clone =
  | { readonly ok: true; readonly directory: string; remove(): void }
  | { readonly ok: false; readonly message: string };

/** Recognizes `https://`, `ssh://`, `file:///` and `user@host:path`. Anything else is a path. */
function isRepositoryAddress(source: string): boolean {
  return /^[a-z][a-z0-9+.-]*:(:|\/\/)/i.test(source) || isScp(source);
}

/**
 * Clones the latest commit of a repository to a temporary directory, without running programs that the repository
 * configures.
 */
async function cloneRepository(
  address: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Clone> {
  if (!isAllowed(address)) {
    const message = `${stripControls(address)} is not a supported URL. Use https://, ssh:// or file:///.`;
    return { ok: false, message };
  }
  const directory = mkdtempSync(join(tmpdir(), "retinue-plugin-"));
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  const options = ["--depth", "1", "--no-tags", "--no-recurse-submodules", "--template=", "--quiet"];
  const git = startProcess({
    command: "git",
    args: [...withoutPrograms, "clone", ...options, "--", address, join(directory, "plugin")],
    cwd: directory,
    env: { ...scrubEnvironment(environment), GIT_ALLOW_PROTOCOL: "file:https:ssh", GIT_LFS_SKIP_SMUDGE: "1" },
    tag: `clone-${createId()}`,
  });
  git.stdout.resume();
  let output = "";
  for await (const text of git.stderr) output = (output + String(text)).slice(-2_000);
  const { code, failure } = await git.closed;
  if (code === 0) return { ok: true, directory: join(directory, "plugin"), remove };
  remove();
  const reason = stripControls(failure ?? output.trim()).replace(/\s+/g, " ");
  return { ok: false, message: `git could not clone ${stripControls(address)}: ${reason}` };
}

const withoutPrograms = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "filter.lfs.required=false"].flatMap(
  (setting) => ["-c", setting],
);

/**
 * Returns whether a repository may be cloned from an address. A host that begins with a dash would be interpreted as an
 * ssh option.
 */
function isAllowed(address: string): boolean {
  if (/[\s\0]/.test(address)) return false;
  return (
    isScp(address) ||
    /^(https:\/\/|ssh:\/\/)(\w[\w.%-]*(:[^@/]*)?@)?[\w[][^/]*\/./i.test(address) ||
    /^file:\/\/\/./i.test(address)
  );
}

function isScp(address: string): boolean {
  return /^[\w.]+@\w[\w.-]*:[^:]/.test(address);
}
