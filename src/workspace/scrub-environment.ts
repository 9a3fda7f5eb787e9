import { delimiter, isAbsolute } from "node:path";

const secret = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|_PASS$|_PAT$/i;
/** Harmless variables whose names look like secrets. */
const kept = new Set(["TOKENIZERS_PARALLELISM", "KEYTIMEOUT", "SSH_AUTH_SOCK"]);
const gitKey = /^GIT_CONFIG_KEY_\d+$/;
/** Variables that make shells run code or behave differently. */
const shellHooks =
  /^(BASH_ENV|ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|CDPATH|GLOBIGNORE|IFS|PS4|BASH_FUNC_.*|FORCE_COLOR)$/;

/**
 * Variables that disable pagers, prompts, colors and git's optional locks, because the processes are not interactive.
 */
const quiet = {
  GIT_PAGER: "cat",
  PAGER: "cat",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  NO_COLOR: "1",
};

/**
 * Runs the editor that the command line itself names, as in `EDITOR=x git commit`, and otherwise keeps the text as it is.
 * No one can use an editor here, but a repository can configure any program as its editor.
 */
const editor = `edit() { eval "\${VISUAL:-\${EDITOR:-true}} \\"\\$@\\""; }; edit`;

/**
 * Settings that disable programs that git would otherwise run, even for read-only commands, because of a repository's
 * configuration. A directory in the working tree can look like a bare repository, with a configuration and hooks that
 * came with a clone.
 */
const gitConfiguration = [
  ["safe.bareRepository", "explicit"],
  ["core.fsmonitor", "false"],
  ["log.showSignature", "false"],
  // A submodule has its own configuration, which may name programs.
  ["fetch.recurseSubmodules", "false"],
  ["core.editor", editor],
  ["sequence.editor", editor],
] as const;

/**
 * Removes keys, tokens and passwords from the environment, for hooks, MCP servers and programs that Retinue itself
 * starts.
 */
export function scrubEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const scrubbed: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || isShellHook(name) || looksSecret(name)) continue;
    scrubbed[name] = value;
  }
  return adaptEnvironment(scrubbed);
}

/** Returns true if the name of a variable suggests that its value is a key, a token or a password. */
export function looksSecret(name: string): boolean {
  return secret.test(name) && !kept.has(name) && !gitKey.test(name);
}

export function isShellHook(name: string): boolean {
  return shellHooks.test(name);
}

/** Adapts an environment for processes that are not interactive and may run in directories that others control. */
export function adaptEnvironment(selected: Record<string, string>): Readonly<Record<string, string>> {
  return addGitConfiguration({ ...selected, ...absolutePath(selected), ...quiet }, gitConfiguration);
}

/** Removes relative and empty entries, which would let the current directory provide `git` or `ls`. */
function absolutePath({ PATH }: Record<string, string>): Record<string, string> {
  if (PATH === undefined) return {};
  // An empty PATH would mean the current directory.
  return { PATH: PATH.split(delimiter).filter(isAbsolute).join(delimiter) || STANDARD_PATH };
}

export const STANDARD_PATH = "/usr/local/bin:/usr/bin:/bin";

/** Appends git configuration to any that is already in the environment, because the last value wins. */
export function addGitConfiguration(
  environment: Readonly<Record<string, string>>,
  settings: readonly (readonly [key: string, value: string])[],
): Readonly<Record<string, string>> {
  const { GIT_CONFIG_COUNT: before = "" } = environment as { GIT_CONFIG_COUNT?: string };
  const first = /^\d{1,4}$/.test(before) ? Number(before) : 0;
  const entries = settings.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${first + index}`, key],
    [`GIT_CONFIG_VALUE_${first + index}`, value],
  ]);
  return { ...environment, ...Object.fromEntries(entries), GIT_CONFIG_COUNT: String(first + settings.length) };
}
