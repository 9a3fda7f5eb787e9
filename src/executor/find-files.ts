import { deniedPlaces, hiddenPredicate, pendingPatterns, withExpansions } from "../permissions/index.ts";
import type { Workspace } from "../ports/index.ts";
import type { Access, DirectoryWalk, Policy, ResolvedPath } from "../protocol/index.ts";

/** Replaces patterns of the shell by the files that they match now. */
export async function expandAccesses(accesses: readonly Access[], workspace: Workspace): Promise<readonly Access[]> {
  const patterns = pendingPatterns(accesses);
  return patterns.length === 0 ? accesses : withExpansions(accesses, await workspace.expand(patterns));
}

/**
 * Returns the files that deny rules name and that have several names, for `decide`. `unknown` if there are too many
 * files to look at. Empty unless one of the paths has several names.
 */
export async function deniedFiles(
  resolved: readonly ResolvedPath[],
  policy: Policy,
  { workspace, homes }: { readonly workspace: Workspace; readonly homes: readonly string[] },
): Promise<readonly ResolvedPath[] | "unknown"> {
  if (resolved.every(({ hardLink }) => hardLink === undefined)) return [];
  const places = deniedPlaces(policy, homes);
  if (places === undefined) return [];
  const isHidden = hiddenPredicate(policy, homes);
  const denied: ResolvedPath[] = [];
  for (const place of places) {
    const found = await workspace.walk(place, { follows: false });
    if (found === undefined) return "unknown";
    const files = found.filter(({ path, kind }) => kind === "file" && isHidden(path)).map(({ path }) => path);
    denied.push(...(await workspace.resolve(files)));
  }
  return denied.filter(({ hardLink }) => hardLink !== undefined);
}

/**
 * Adds the symlinks and the denied files that commands come across when they go through directories. Returns undefined if
 * there are none. A directory that is too large becomes a pattern that was not expanded.
 */
export async function accessesOfWalks(
  { accesses, resolved }: { readonly accesses: readonly Access[]; readonly resolved: readonly ResolvedPath[] },
  policy: Policy,
  { workspace, homes }: { readonly workspace: Workspace; readonly homes: readonly string[] },
): Promise<readonly Access[] | undefined> {
  const isHidden = deniedPlaces(policy, homes) === undefined ? undefined : hiddenPredicate(policy, homes);
  const isRelevant = ({ follows, contents }: DirectoryWalk) => follows || (contents && isHidden !== undefined);
  const result: Access[] = [];
  let path = 0;
  for (const access of accesses) {
    const place = "path" in access ? resolved[path++] : undefined;
    const shell = access.kind === "read" ? access.shell : undefined;
    if (access.kind !== "read" || place === undefined || shell?.walk === undefined || !isRelevant(shell.walk)) {
      result.push(access);
      continue;
    }
    const { walk } = shell;
    const found = place.real === "" ? undefined : await workspace.walk(place.real, walk);
    const isSplit = walk.splits && found?.some((each) => /[\s'"\\]/.test(each.path.slice(place.real.length)));
    if (found === undefined || isSplit) {
      result.push({ ...access, shell: { ...shell, state: "pending" } });
      continue;
    }
    const met = found.filter(
      (each) => (walk.follows && each.kind === "link") || (walk.contents && isHidden?.(each.path) === true),
    );
    const walked = { ...shell, state: "walked" } as const;
    result.push(access, ...met.map((each): Access => ({ kind: "read", path: each.path, shell: walked })));
  }
  const isUnchanged = result.length === accesses.length && result.every((access, index) => access === accesses[index]);
  return isUnchanged ? undefined : result;
}
