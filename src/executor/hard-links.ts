import { hiddenPredicate, namedPlaces } from "../permissions/index.ts";
import type { Workspace } from "../ports/index.ts";
import type { Policy } from "../protocol/index.ts";

/** The names of files with several names (hard links), by `ResolvedPath.hardLink`; `unknown` if there are too many files. */
export type FileNames = ReadonlyMap<string, readonly string[]> | "unknown";

export interface LinkPlace {
  readonly workspace: Workspace;
  readonly homes: readonly string[];
}

interface LinkedFile {
  readonly path: string;
  readonly hardLink?: string | undefined;
}

const noNames: FileNames = new Map<string, readonly string[]>();

/** Looks up all names of those files that have several. Nothing is looked up if there are no such files. */
export async function namesOf(
  files: readonly Pick<LinkedFile, "hardLink">[],
  policy: Policy,
  { workspace, homes }: LinkPlace,
): Promise<FileNames> {
  const hardLinks = [...new Set(files.flatMap(({ hardLink }) => hardLink ?? []))];
  if (hardLinks.length === 0) return noNames;
  return (await workspace.findNames(hardLinks, namedPlaces(policy, homes))) ?? "unknown";
}

/** Returns those of the files that have another name which is hidden, or whose names can't all be looked up. */
export async function hiddenElsewhere(
  files: readonly LinkedFile[],
  policy: Policy,
  place: LinkPlace,
): Promise<ReadonlySet<string>> {
  const names = await namesOf(files, policy, place);
  const isHidden = hiddenPredicate(policy, place.homes);
  const isFound = ({ hardLink }: LinkedFile): boolean =>
    hardLink !== undefined && (names === "unknown" || (names.get(hardLink)?.some(isHidden) ?? false));
  return new Set(files.flatMap((file) => (isFound(file) ? [file.path] : [])));
}
