import type { Access } from "../../protocol/index.ts";

/** Returns the patterns that the workspace has to expand before the accesses of a shell command can be judged. */
export function pendingPatterns(accesses: readonly Access[]): readonly string[] {
  return accesses.flatMap((access) => pendingPattern(access) ?? []);
}

/**
 * Replaces patterns by the paths that they match. `found` has one entry for each of `pendingPatterns(accesses)`. A
 * pattern without an entry stays pending.
 */
export function withExpansions(
  accesses: readonly Access[],
  found: readonly (readonly string[] | undefined)[],
): readonly Access[] {
  let index = 0;
  return accesses.flatMap((access) => {
    if (pendingPattern(access) === undefined || !("path" in access) || !("shell" in access)) return [access];
    const paths = found[index++];
    const { shell } = access;
    if (paths === undefined || shell === undefined) return [access];
    // The program would take such a name for an option.
    if (shell.startsWild && paths.some((path) => path.includes("/-"))) return [access];
    if (shell.splits && paths.some((path) => /[\s*?[\\]/.test(path))) return [access];
    return paths.map((path) => ({ ...access, path, shell: { ...shell, state: undefined } }));
  });
}

function pendingPattern(access: Access): string | undefined {
  if (!("shell" in access) || access.shell?.state !== "pending") return undefined;
  return access.shell.pattern;
}
