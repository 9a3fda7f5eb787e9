import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import {
  describeError,
  errorCode,
  homeDirectory,
  isRecord,
  parseJsonc,
  UserError,
  withFileLock,
  writeAtomically,
} from "../lib/index.ts";
import type {
  Approval,
  JsonObject,
  LoadedSettings,
  ProjectSettings,
  Settings,
  SettingsOrigin,
} from "../protocol/index.ts";
import {
  createTrustStore,
  hashApproval,
  type LoadSettingsOptions,
  lineOf,
  loadSettings,
  readSettings,
} from "../settings/index.ts";
import type { ReviewedFiles } from "../workspace/index.ts";
import { type TrustedLevels, trustedLevels, unreadFiles } from "./trusted-levels.ts";

/** The directory whose settings are loaded, and whether it is trusted. */
export interface ProjectSettingsOptions extends Pick<LoadSettingsOptions, "file" | "flags" | "managedDirectory"> {
  /** State directory. */
  readonly home: string;
  /** Real path of the workspace. */
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** True to treat the workspace as trusted, even if the user has not trusted it. */
  readonly trust: boolean;
}

/**
 * Loads all settings files for a workspace, including its project's own files if they are trusted. The notices name files
 * that are ignored. Throws a `UserError` for invalid files.
 */
export function loadProjectSettings(options: ProjectSettingsOptions): ProjectSettings {
  return combineSettings(options, loadSettings);
}

/** Like `loadProjectSettings`, but reports invalid files in `problems`. Never throws. */
export function readProjectSettings(options: ProjectSettingsOptions): ProjectSettings {
  return combineSettings(options, readSettings);
}

function combineSettings(
  { home, cwd, environment, trust, ...rest }: ProjectSettingsOptions,
  read: (options: LoadSettingsOptions) => LoadedSettings,
): ProjectSettings {
  const store = createTrustStore({ stateHome: home });
  const userHome = homeDirectory(environment);
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
    approvedHash: trust ? undefined : approvedHash(cwd),
  });
  const project = readProjectServers({
    cwd,
    levels,
    approvedHash: (path) => (trust && path === cwd ? undefined : approvedHash(path)),
  });
  // In the home directory, these files are the user's own.
  const untrusted = [...loaded.untrusted, ...(cwd === userHome ? [] : unreadFiles(levels, cwd)), ...project.untrusted];
  const notices = [
    ...(store.problem === undefined ? [] : [store.problem]),
    ...loaded.notices,
    ...directoryNotices(loaded),
    ...project.notices,
    ...untrustedNotices(untrusted, levels),
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
    trust,
  };
}

/** Adds the servers from `.mcp.json`. A server in the settings overrides one with the same name. */
function withServers(settings: Settings, servers: NonNullable<Settings["mcpServers"]>): Settings {
  if (Object.keys(servers).length === 0) return settings;
  return Object.freeze({ ...settings, mcpServers: Object.freeze({ ...servers, ...settings.mcpServers }) });
}

function untrustedNotices(untrusted: readonly string[], { trustedRoot, root }: TrustedLevels): readonly string[] {
  if (untrusted.length === 0) return [];
  const files = untrusted.join("; ");
  const all = `"retinue trust add ${root}"`;
  if (trustedRoot !== undefined) {
    return [`Only ${trustedRoot} is trusted, so Retinue ignores ${files}. Trust the whole project with ${all}.`];
  }
  const above = untrusted.some((name) => name.startsWith("../")) ? ` (for the whole project: ${all})` : "";
  const fix = `Trust it with "retinue trust add"${above}, or for one run with the \`trusted\` option.`;
  return [`This directory is not trusted, so Retinue ignores ${files}. ${fix}`];
}

/** Reports additional directories that do not exist, or that depend on where Retinue is started. */
function directoryNotices({ settings, origins }: LoadedSettings): readonly string[] {
  return (settings.permissions?.additionalDirectories ?? []).flatMap((directory) => {
    const origin = origins.find(
      ({ path, value }) => path.startsWith("permissions.additionalDirectories") && value === directory,
    );
    const start = `${origin?.file ?? "settings"}: permissions.additionalDirectories contains ${JSON.stringify(directory)}`;
    if (!isAbsolute(directory)) return [`${start}, which is not an absolute path. Use an absolute path.`];
    if (existsSync(directory)) return [];
    return [`${start}, which does not exist, so it has no effect. Create the directory, or correct the path.`];
  });
}

interface ProjectServers {
  readonly servers: Readonly<Record<string, JsonObject>>;
  readonly origins: readonly SettingsOrigin[];
  readonly notices: readonly string[];
  /** Approvals that would be recorded if the workspace were trusted now. */
  readonly approvals: readonly Approval[];
  /** Files that are ignored because their directory is not trusted, relative to the workspace. */
  readonly untrusted: readonly string[];
}

interface ProjectServersOptions {
  /** Real path of the workspace. */
  readonly cwd: string;
  readonly levels: TrustedLevels;
  /**
   * Returns a function that looks up the approved hashes of a directory; undefined if the directory's current content
   * counts as approved.
   */
  readonly approvedHash: (path: string) => ((kind: string, name: string) => string | undefined) | undefined;
}

/** Reads the approved `.mcp.json` files of a project. The nearest file takes precedence. */
function readProjectServers({ cwd, levels, approvedHash }: ProjectServersOptions): ProjectServers {
  const servers: Record<string, JsonObject> = {};
  const origins: SettingsOrigin[] = [];
  const notices: string[] = [];
  const approvals: Approval[] = [];
  const untrusted: string[] = [];
  for (const { path, trusted } of levels.nearestFirst) {
    const file = join(path, SERVERS_FILE);
    if (!existsSync(file)) continue;
    if (!trusted) {
      untrusted.push(relative(cwd, file));
      continue;
    }
    const read = readServers(file);
    if ("problem" in read) {
      notices.push(read.problem);
      continue;
    }
    const hash = hashApproval(read.servers);
    if (path === cwd) approvals.push({ kind: SERVERS_KEY, name: SERVERS_FILE, hash });
    const approved = approvedHash(path);
    if (approved !== undefined && approved(SERVERS_KEY, SERVERS_FILE) !== hash) {
      notices.push(notApproved(file, { path, isNew: approved(SERVERS_KEY, SERVERS_FILE) === undefined }));
      continue;
    }
    for (const [name, value] of Object.entries(read.servers)) {
      if (Object.hasOwn(servers, name)) continue;
      Object.defineProperty(servers, name, { value, enumerable: true });
      const line = lineOf(read.text, [SERVERS_KEY, name]);
      origins.push({ path: `mcpServers.${name}`, value, scope: "project", file, line });
    }
  }
  return { servers, origins, notices, approvals, untrusted };
}

const SERVERS_FILE = ".mcp.json";
const SERVERS_KEY = "mcpServers";

type ReadServers =
  | { readonly servers: Readonly<Record<string, JsonObject>>; readonly text: string }
  | { readonly problem: string };

/** Maximum size of a file; a larger one is a mistake or an attack. */
const MAX_BYTES = 1_000_000;

function readServers(file: string): ReadServers {
  try {
    const stat = statSync(file);
    // Only regular files are read, because reading a pipe would block.
    if (!stat.isFile() || stat.size > MAX_BYTES)
      return { problem: `${file} is not a regular file or is larger than 1 MB. Replace it.` };
    return parseServers(readFileSync(file, "utf8"), file);
  } catch (error) {
    return { problem: `${file} can't be read: ${describeError(error)}` };
  }
}

function parseServers(text: string, file: string): ReadServers {
  const parsed = parseJsonc(text);
  if ("error" in parsed) {
    const { line, message } = parsed.error;
    return { problem: `${file}:${line}: ${message}. None of its MCP servers are used. Fix the file.` };
  }
  const entries = isRecord(parsed.value) ? parsed.value["mcpServers"] : undefined;
  if (!isRecord(entries) || !Object.values(entries).every(isRecord)) {
    const form = `{ "mcpServers": { "name": { "command": "…" } } }`;
    return { problem: `${file} has no valid "mcpServers". Write ${form}.` };
  }
  return { servers: entries as Record<string, JsonObject>, text };
}

function notApproved(file: string, { path, isNew }: { readonly path: string; readonly isNew: boolean }): string {
  const why = isNew ? "you have not approved it yet" : "it has changed since you trusted the directory";
  return `The MCP servers in ${file} are off: ${why}. Review it, then trust it with "retinue trust add ${path}", or for one run with the \`trusted\` option.`;
}

const LOCAL_SETTINGS = ".retinue/settings.local.json";

export interface KeepOptions extends Pick<ProjectSettingsOptions, "home" | "cwd" | "environment"> {
  readonly files: ReviewedFiles;
}

/** Adds an allow rule to the settings of a directory. Returns a message for the user. Never rejects. */
export async function keepRule(rule: string, options: KeepOptions): Promise<string> {
  const file = join(options.cwd, LOCAL_SETTINGS);
  try {
    mkdirSync(dirname(file), { recursive: true });
    return await withFileLock(file, () => addRule(rule, file, options));
  } catch (error) {
    return `${rule} applies in this session, but could not be saved in ${file}: ${describeError(error)}`;
  }
}

/**
 * Adds a rule to a settings file. The user has seen the rule, so if the file allowed nothing else that the user has not
 * approved, the changed file is also approved. The directory does not become trusted.
 */
async function addRule(rule: string, file: string, options: KeepOptions): Promise<string> {
  const { home, cwd, files } = options;
  const store = createTrustStore({ stateHome: home });
  const approved = store.approvedHash(cwd, { kind: "permissions", name: LOCAL_SETTINGS });
  const wasApproved = currentApproval(options)?.hash === approved;
  const settings = readPlainJson(file);
  const permissions = recordOf(settings["permissions"]);
  const allow = Array.isArray(permissions["allow"]) ? permissions["allow"] : [];
  if (allow.includes(rule)) return `${rule} is already in ${file}.`;
  const changed = { ...settings, permissions: { ...permissions, allow: [...allow, rule] } };
  const text = `${JSON.stringify(changed, null, 2)}\n`;
  // A command that is still running may have created the file. Such a file is not recorded as reviewed.
  const isOwn = !existsSync(file) || files.isUnchanged(file);
  await writeAtomically(file, text, { mode: 0o644 });
  if (isOwn) files.wrote(file, text);
  const approval = wasApproved ? currentApproval(options) : undefined;
  if (approval === undefined)
    return `${rule} was added to ${file}, which allows something else that you have not approved. Review the file, then run "retinue trust add ${cwd}" so that the rule also applies in later sessions.`;
  await store.approve(cwd, approval);
  return `${rule} was added to ${file}.`;
}

function currentApproval({ home, cwd, environment }: KeepOptions) {
  const { approvals } = loadProjectSettings({ home, cwd, environment, trust: true });
  return approvals.find(({ kind, name }) => kind === "permissions" && name === LOCAL_SETTINGS);
}

/** Reads a settings file. Throws if it has comments, because writing the file would remove them. */
function readPlainJson(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return {};
    throw error;
  }
  try {
    return recordOf(JSON.parse(text));
  } catch {
    throw new UserError("it is not plain JSON", { code: "settings", fix: "Add the rule to permissions.allow there." });
  }
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
