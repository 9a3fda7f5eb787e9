import { escapePattern } from "../jobs/definitions.ts";
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
 * Returns the manifests of packages below `path`, one for each directory. If the top-level manifests declare a
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
  const wanted = patterns.filter((pattern) => !pattern.startsWith("!")).map((pattern) => patternOf(path, pattern));
  const unwanted = patterns
    .filter((pattern) => pattern.startsWith("!"))
    .map((pattern) => patternOf(path, pattern.slice(1)));
  if (wanted.length === 0) return (directory) => !notPackages.test(directory);
  return (directory) => wanted.some((form) => form.test(directory)) && !unwanted.some((form) => form.test(directory));
}

/** Translates a pattern such as `packages/*` or `{apps,libs}/**` to a regular expression. */
function patternOf(path: string, pattern: string): RegExp {
  const source = escapePattern(joinPath(path, pattern.replace(/^\.\/|\/+$/g, "")))
    .replaceAll("\\*\\*/", "(?:.*/)?")
    .replaceAll("\\*\\*", ".*")
    .replaceAll("\\*", "[^/]*")
    .replaceAll("\\?", "[^/]")
    .replace(/\\\{([^{}]*)\\\}/g, (_, choices: string) => `(?:${choices.split(",").join("|")})`);
  return new RegExp(`^${source}$`);
}
