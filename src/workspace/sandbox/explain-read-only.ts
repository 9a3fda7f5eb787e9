import { dirname } from "node:path";
import { type Mount, mountAt } from "./mounts.ts";

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
 * denied writes counts even if the command succeeded, because many programs go on without the file.
 */
export function explainReadOnly(output: string, facts: ReadOnlyFacts): string | undefined {
  if (output.startsWith("bwrap: "))
    return "The sandbox could not be set up, so the command was not run. Run the command again.";
  if (/Read-only file system|\bEROFS\b/i.test(output)) return `${readOnly} It could not write. ${whatToDo}`;
  if (facts.failed && unreachable.test(output)) return `${readOnly} It had no network. ${whatToDo}`;
  const hidden = facts.mounts.find(
    ({ path, kind }) => path !== "/tmp" && kind.startsWith("hidden") && output.includes(path),
  );
  if (facts.failed && hidden !== undefined) return `${readOnly} ${hidden.path} was hidden from it. ${whatToDo}`;
  return looksOutside(facts)
    ? `${readOnly} Outside the workspace, it saw only the system and installed programs: home directories and temporary directories looked empty.`
    : undefined;
}

const readOnly = "Sandbox: this command ran read-only, because no permission rule allows it to do more.";
const whatToDo =
  "If it must, ask the user to add an allow rule for it, or use a command that is known to make that change, which needs approval.";

const unreachable =
  /Could not resolve|name resolution|Name or service not known|Network is unreachable|Failed to connect|Connection refused|\b(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH|ECONNREFUSED)\b/i;

/** Returns whether a command names a directory that is hidden from it. */
function looksOutside({ command, root, mounts }: ReadOnlyFacts): boolean {
  const isCovered = (path: string): boolean => ["hidden", "empty"].includes(mountAt(path, mounts)?.kind ?? "");
  if (/(?<![\w.])\.\.(?![\w.])/.test(command) && isCovered(dirname(root))) return true;
  if (/(?<![\w/.])~(?=\/|\s|$)|\$\{?HOME\b/.test(command)) return true;
  const paths = command.match(/(?<![\w.~-])\/[\w./@+-]+/g) ?? [];
  return paths.some(isCovered);
}
