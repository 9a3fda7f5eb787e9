import { dirname, isAbsolute, resolve } from "node:path";
import { isWithin } from "../../lib/index.ts";
import { type Mount, mountAt } from "./mounts.ts";

export interface RefusalFacts {
  readonly root: string;
  readonly scratch: string;
  readonly userHome: string;
  /** Mounts of the sandbox, parents before children. */
  readonly mounts: readonly Mount[];
  readonly domains: readonly string[];
  /** The command that the model wrote. */
  readonly command: string;
}

/**
 * Explains which part of a failed command's output was caused by the sandbox, and what to do; undefined if none was.
 */
export function explainRefusal(output: string, facts: RefusalFacts): string | undefined {
  if (output.startsWith("bwrap: "))
    return "The sandbox could not be set up, so the command was not run. Run the command again.";
  return explainWrite(output, facts) ?? explainHidden(output, facts) ?? explainNetwork(output, facts);
}

/** Explains where the files in /tmp are, because other tools see a different /tmp. */
export function explainTemporary({ command, mounts, scratch }: RefusalFacts): string | undefined {
  const visible = mounts.filter(({ path, kind }) => kind !== "private" && isWithin(path, "/tmp"));
  const rest = visible.reduce((text, { path }) => text.replaceAll(path, ""), command);
  if (!/(?<![\w.-])\/tmp\//.test(rest)) return undefined;
  return `Sandbox: in commands, /tmp refers to ${scratch}. Use that path with other tools.`;
}

const readOnly = /Read-only file system|\bEROFS\b|\bEBUSY\b|Device or resource busy/i;

function explainWrite(output: string, facts: RefusalFacts): string | undefined {
  const line = output.split("\n").find((each) => readOnly.test(each));
  if (line === undefined) return undefined;
  const { root, scratch, mounts } = facts;
  const path = pathIn(line, root);
  const isBusy = !/Read-only file system|\bEROFS\b/i.test(line);
  const guard = path === undefined ? undefined : mountAt(path, mounts);
  const isProtected = guard?.kind === "readOnly" && isWithin(guard.path, root);
  if (isBusy && guard?.kind === "writable" && guard.path === path)
    return `Sandbox: commands can't move or remove ${path} itself.`;
  // The sandbox need not be the cause: a resource can be busy for other reasons.
  if (isBusy && !isProtected) return undefined;
  if (isProtected)
    return `Sandbox: ${guard.path} is read-only for commands, because programs outside the sandbox act on it. Change it with Write or Edit, which ask for approval.`;
  const what = path === undefined ? "this path" : path;
  return `Sandbox: commands can write only to ${root} and $TMPDIR (${scratch}), and ${what} is outside both. Write to one of them, or ask the user to add a directory to sandbox.filesystem.allowWrite in the user settings.`;
}

/** Finds the path in an error message: a quoted one, or the last word that looks like a path. */
function pathIn(line: string, root: string): string | undefined {
  const quoted = /['"‘`]([^'"‘’`/]*\/[^'"‘’`]*|\.[\w.-]+)['"’`]/.exec(line)?.[1];
  const word = line
    .split(/[\s:,]+/)
    .findLast((each) => /^(?:~?\/|\.{0,2}\/|\.)?[\w.@+-]+(?:\/[\w.@+-]*)+$|^\.[\w.-]+$/.test(each));
  const path = quoted ?? word;
  if (path === undefined) return undefined;
  return isAbsolute(path) ? resolve(path) : resolve(root, path);
}

const unreachable =
  /Could not resolve (?:host|proxy)|Temporary failure in name resolution|Name or service not known|Network is unreachable|Failed to connect to|\b(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH)\b|CONNECT tunnel failed|sandbox\.network\.allowedDomains|Could not resolve hostname/i;

/** Commands that may fail without a network and not report that as the cause. */
const networked =
  /(?<![\w./-])(?:curl|wget|ssh|scp|rsync|npx|(?:npm|pnpm|yarn) (?:i|ci|add|install|update)|pip3? install|git (?:fetch|pull|push|clone|ls-remote)|apt(?:-get)? (?:install|update)|cargo (?:add|fetch|install|update)|go (?:get|install|mod))\b/;

function explainNetwork(output: string, { domains, command }: RefusalFacts): string | undefined {
  if (!unreachable.test(output) && !networked.test(command)) return undefined;
  const open =
    domains.length === 0
      ? "commands have no network access"
      : `commands can reach only ${domains.join(", ")}, over HTTP`;
  return `Sandbox: ${open}. Servers started by other commands in this session can be reached at 127.0.0.1. Read web pages with WebFetch, or ask the user to add the host to sandbox.network.allowedDomains in the user settings.`;
}

function explainHidden(output: string, { mounts, userHome }: RefusalFacts): string | undefined {
  const hidden = mounts.find(
    ({ path, kind }) =>
      (kind === "hidden" || kind === "hiddenFile") && isWithin(path, userHome) && output.includes(path),
  );
  if (hidden === undefined) return undefined;
  return `Sandbox: ${hidden.path} is hidden from commands, because it contains keys or other sessions.`;
}

export interface ReadOnlyFacts {
  readonly failed: boolean;
  readonly root: string;
  /** Mounts of the sandbox, parents before children. */
  readonly mounts: readonly Mount[];
  /** The command that the model wrote. */
  readonly command: string;
}

/**
 * Explains how the read-only profile changed the outcome of a command; undefined if it did not. Output that mentions
 * denied writes is explained even if the command succeeded, because many programs continue without the file.
 */
export function explainReadOnly(output: string, facts: ReadOnlyFacts): string | undefined {
  if (output.startsWith("bwrap: "))
    return "The sandbox could not be set up, so the command was not run. Run the command again.";
  if (/Read-only file system|\bEROFS\b/i.test(output))
    return `${RAN_READ_ONLY} It could not write files. ${WHAT_TO_DO}`;
  if (facts.failed && noNetwork.test(output)) return `${RAN_READ_ONLY} It had no network access. ${WHAT_TO_DO}`;
  const hidden = facts.mounts.find(
    ({ path, kind }) => path !== "/tmp" && kind.startsWith("hidden") && output.includes(path),
  );
  if (facts.failed && hidden !== undefined) return `${RAN_READ_ONLY} ${hidden.path} was hidden from it. ${WHAT_TO_DO}`;
  return looksOutside(facts)
    ? `${RAN_READ_ONLY} Outside the workspace, it saw only the system and installed programs: home directories and temporary directories looked empty.`
    : undefined;
}

const RAN_READ_ONLY = "Sandbox: this command ran read-only, because no permission rule allows it to do more.";
const WHAT_TO_DO =
  "If it has to do more, ask the user to add an allow rule for it, or use a command that is known to make that change, which needs approval.";

const noNetwork =
  /Could not resolve|name resolution|Name or service not known|Network is unreachable|Failed to connect|Connection refused|\b(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH|ECONNREFUSED)\b/i;

/** Returns true if a command names a directory that is hidden from it. */
function looksOutside({ command, root, mounts }: ReadOnlyFacts): boolean {
  const isCovered = (path: string): boolean => ["hidden", "empty"].includes(mountAt(path, mounts)?.kind ?? "");
  if (/(?<![\w.])\.\.(?![\w.])/.test(command) && isCovered(dirname(root))) return true;
  if (/(?<![\w/.])~(?=\/|\s|$)|\$\{?HOME\b/.test(command)) return true;
  const paths = command.match(/(?<![\w.~-])\/[\w./@+-]+/g) ?? [];
  return paths.some(isCovered);
}
