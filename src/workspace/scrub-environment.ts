import { delimiter, isAbsolute } from "node:path";

const secret = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|_PASS$|_PAT$/i;
/** Harmless although their names look like secrets. */
const kept = new Set(["TOKENIZERS_PARALLELISM", "KEYTIMEOUT", "SSH_AUTH_SOCK"]);
const gitKey = /^GIT_CONFIG_KEY_\d+$/;
/** Run code in, or change the meaning of, every shell that inherits them. */
const shellHooks =
  /^(BASH_ENV|ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|CDPATH|GLOBIGNORE|IFS|PS4|BASH_FUNC_.*|FORCE_COLOR)$/;

/** Nobody sits before these processes: nothing may page, prompt or colour, and a look at git must not take its locks. */
const quiet = {
  GIT_PAGER: "cat",
  PAGER: "cat",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  NO_COLOR: "1",
};

/** Programs that a repository's own configuration would have git run while somebody only looks. */
const gitConfiguration = [
  ["core.fsmonitor", "false"],
  ["log.showSignature", "false"],
] as const;

/** What a process of the workspace may see of our environment: no keys, tokens or passwords. */
export function scrubEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const scrubbed: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || shellHooks.test(name)) continue;
    if (secret.test(name) && !kept.has(name) && !gitKey.test(name)) continue;
    scrubbed[name] = value;
  }
  return { ...scrubbed, ...absolutePath(scrubbed), ...quiet, ...configureGit(scrubbed) };
}

/** A relative entry, or an empty one, would let every directory we work in say what `git` or `ls` is. */
function absolutePath({ PATH }: Record<string, string>): Record<string, string> {
  if (PATH === undefined) return {};
  // Left empty it would stand for the directory we work in.
  return { PATH: PATH.split(delimiter).filter(isAbsolute).join(delimiter) || "/usr/local/bin:/usr/bin:/bin" };
}

/** Added behind what the user configured this way: the last word counts. */
function configureGit({ GIT_CONFIG_COUNT: before = "" }: Record<string, string>): Record<string, string> {
  const first = /^\d{1,4}$/.test(before) ? Number(before) : 0;
  const entries = gitConfiguration.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${first + index}`, key],
    [`GIT_CONFIG_VALUE_${first + index}`, value],
  ]);
  return { ...Object.fromEntries(entries), GIT_CONFIG_COUNT: String(first + gitConfiguration.length) };
}
