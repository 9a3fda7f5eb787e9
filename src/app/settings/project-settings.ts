import { homedir } from "node:os";
import type { Settings } from "../../protocol/index.ts";
import {
  createTrustStore,
  type LoadedSettings,
  type LoadSettingsOptions,
  loadSettings,
  readSettings,
} from "../../settings/index.ts";
import type { Environment } from "../places.ts";
import { readProjectServers } from "./project-servers.ts";
import { type TrustedLevels, trustedLevels, unreadFiles } from "./trusted-levels.ts";

export interface ProjectSettingsOptions extends Pick<LoadSettingsOptions, "file" | "flags" | "managedDirectory"> {
  /** The state directory. */
  readonly home: string;
  /** The real path of the workspace. */
  readonly cwd: string;
  readonly environment: Environment;
  /** The workspace itself counts for this once, whatever the store says. */
  readonly trust: boolean;
}

export interface ProjectSettings extends LoadedSettings {
  readonly trusted: boolean;
}

/**
 * Every settings file that counts for a workspace, those of its project only as far as they are trusted. What is off is in
 * the notices. Throws a `UserError` for what must be repaired first.
 */
export function loadProjectSettings(options: ProjectSettingsOptions): ProjectSettings {
  return gatherSettings(options, loadSettings);
}

/** The same, with what must be repaired in `problems`. Never throws. */
export function readProjectSettings(options: ProjectSettingsOptions): ProjectSettings {
  return gatherSettings(options, readSettings);
}

function gatherSettings(
  { home, cwd, environment, trust, ...rest }: ProjectSettingsOptions,
  read: (options: LoadSettingsOptions) => LoadedSettings,
): ProjectSettings {
  const store = createTrustStore({ stateHome: home });
  const userHome = environment["HOME"] || homedir();
  const levels = trustedLevels({ cwd, userHome, store, trust });
  const trusted = levels.trustedRoot !== undefined;
  const approvedHash = (path: string) => (kind: string, name: string) => store.approvedHash(path, { kind, name });
  const loaded = read({
    ...rest,
    home,
    cwd,
    environment,
    userHome,
    trusted,
    above: levels.nearestFirst.slice(1).map((level) => ({ ...level, approvedHash: approvedHash(level.path) })),
    ...(trust ? {} : { approvedHash: approvedHash(cwd) }),
  });
  const project = readProjectServers({
    cwd,
    levels,
    approvedHash: (path) => (trust && path === cwd ? undefined : approvedHash(path)),
  });
  // In the home directory these are the user's own.
  const untrusted = [...loaded.untrusted, ...(cwd === userHome ? [] : unreadFiles(levels, cwd)), ...project.untrusted];
  const notices = [
    ...(store.problem === undefined ? [] : [store.problem]),
    ...loaded.notices,
    ...project.notices,
    ...whatIsOff(untrusted, levels),
  ];
  const approvals = [...loaded.approvals, ...project.approvals];
  const origins = [...loaded.origins, ...project.origins];
  return {
    ...loaded,
    settings: withServers(loaded.settings, project.servers),
    origins,
    approvals,
    notices,
    untrusted,
    trusted,
  };
}

/** Who names a server in settings means that one. */
function withServers(settings: Settings, servers: NonNullable<Settings["mcpServers"]>): Settings {
  if (Object.keys(servers).length === 0) return settings;
  return Object.freeze({ ...settings, mcpServers: Object.freeze({ ...servers, ...settings.mcpServers }) });
}

function whatIsOff(untrusted: readonly string[], { trustedRoot, root }: TrustedLevels): readonly string[] {
  if (untrusted.length === 0) return [];
  const files = untrusted.join("; ");
  const all = `"retinue trust add ${root}"`;
  if (trustedRoot !== undefined) {
    const what = "so this of the directories above it is off";
    return [`Only ${trustedRoot} is trusted, ${what}: ${files}. Trust the whole project with ${all}.`];
  }
  const above = untrusted.some((name) => name.startsWith("../")) ? ` (with what is above it: ${all})` : "";
  const cure = `Trust it with "retinue trust add"${above}, or for one run with --trust.`;
  return [`This directory is not trusted, so this of its files is off: ${files}. ${cure}`];
}
