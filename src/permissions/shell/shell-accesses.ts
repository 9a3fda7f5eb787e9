import type { Access } from "../../protocol/index.ts";
import { analyseCommand } from "./analyse-command.ts";
import { unitsOf } from "./command-units.ts";
import { readOnlyUse } from "./read-only.ts";
import { redirectionsOf } from "./shell-analysis.ts";

/**
 * Files that a command line opens by redirection, and those in the workspace that its read-only commands read: a link may
 * lead elsewhere. Paths that are not plainly inside are left out; the command itself is judged by them.
 */
export function shellAccesses(text: string): readonly Access[] {
  const analysis = analyseCommand(text);
  const accesses = new Map<string, Access>();
  for (const { kind, path } of redirectionsOf(analysis)) {
    if (path !== undefined) accesses.set(`${kind} ${path}`, { kind, path });
  }
  if (analysis.moves) return [...accesses.values()];
  for (const { command } of unitsOf(analysis)) {
    for (const { text: path, open } of readOnlyUse(command)?.paths ?? []) {
      if (open === undefined && isPlainPath(path)) accesses.set(`read ${path}`, { kind: "read", path });
    }
  }
  return [...accesses.values()];
}

/** Only names that a workspace resolves as the shell would. */
function isPlainPath(path: string): boolean {
  return (
    /^[\p{L}\p{N}_.][\p{L}\p{N}_./@+ -]*$/u.test(path) &&
    !/(^|\/)\.\.(\/|$)/.test(path) &&
    path !== "." &&
    path.length < 4_000
  );
}
