import { compileGlob } from "../../lib/index.ts";
import { baseName } from "./languages.ts";
import type { Manifest } from "./manifests/manifest.ts";
import { packageManifests } from "./manifests/read-manifest.ts";
import { isOwn, joinPath } from "./survey-files.ts";

/** A subdirectory that has its own manifest. */
export interface Package {
  readonly path: string;
  readonly manifest: Manifest;
}

/**
 * Returns the manifests of packages under `path`, one for each directory. If the top-level manifests declare a
 * workspace, only its members are included.
 */
export function packageManifestsIn(
  found: readonly string[],
  { path, top }: { readonly path: string; readonly top: readonly Manifest[] },
): readonly string[] {
  const isMember = memberTest(
    path,
    top.flatMap(({ members }) => members),
  );
  const byDirectory = new Map<string, string>();
  const rank = (file: string) => packageManifests.indexOf(baseName(file));
  for (const file of found.filter(isOwn)) {
    const directory = directoryOf(file);
    const other = byDirectory.get(directory);
    if (isMember(directory) && (other === undefined || rank(file) < rank(other))) byDirectory.set(directory, file);
  }
  return [...byDirectory.values()].sort();
}

export function directoryOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : ".";
}

const notPackages = /(^|\/)(tests?|__tests__|testdata|fixtures?|examples?|samples?|templates?|playgrounds?|e2e)(\/|$)/;

function memberTest(path: string, patterns: readonly string[]): (directory: string) => boolean {
  const isUnwanted = (pattern: string) => pattern.startsWith("!");
  const wanted = patterns.filter((pattern) => !isUnwanted(pattern)).map((pattern) => memberPattern(path, pattern));
  const unwanted = patterns.filter(isUnwanted).map((pattern) => memberPattern(path, pattern.slice(1)));
  if (wanted.length === 0) return (directory) => !notPackages.test(directory);
  return (directory) => wanted.some((holds) => holds(directory)) && !unwanted.some((holds) => holds(directory));
}

/** Compiles a pattern such as `packages/*` or `{apps,libs}/**`. A pattern that can't be used matches nothing. */
function memberPattern(path: string, pattern: string): (directory: string) => boolean {
  const start = joinPath(path, "");
  try {
    const matches = compileGlob(`./${pattern}`);
    return (directory) => directory.startsWith(start) && matches(directory.slice(start.length));
  } catch {
    return () => false;
  }
}
