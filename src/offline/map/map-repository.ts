import { plural } from "../../lib/index.ts";
import { todoPattern } from "../jobs/definitions.ts";
import {
  type CallResult,
  callAll,
  callTools,
  git,
  glob,
  grep,
  type Job,
  list,
  quote,
  read,
  resultText,
} from "../jobs/job.ts";
import { compose } from "../jobs/report.ts";
import { type Listing, parseCounts, parseHits, parseListing, parsePage, parsePaths } from "../jobs/results.ts";
import { delegateParts, partsOf } from "./delegate-parts.ts";
import { describeDirectories, findDescriptions, findGoPackages } from "./describe-directories.ts";
import { directoryOf, packageManifestsIn } from "./find-packages.ts";
import { foreignDirectories } from "./languages.ts";
import { manifestNames, packageManifests, readManifest } from "./manifests/read-manifest.ts";
import { mapReport } from "./map-report.ts";
import { countByNames, countLines, foreignGlob, joinPath, surveyFiles } from "./survey-files.ts";

const maxManifests = 6;
const maxPackages = 16;

/** Maps a directory. All calls are limited to `path`. */
export function* mapRepository(path = ".", { canDelegate = false }: { readonly canDelegate?: boolean } = {}): Job {
  const { listing, log, status } = yield* callTools(`Looking at ${nameOf(path)} and its recent history`, {
    listing: list(path),
    log: git(`log -n 10 --date=short --format=%h%x09%ad%x09%an%x09%s -- ${quote(path)}`),
    status: git("status --short --branch"),
  });
  const top = ownEntries(parseListing(resultText(listing)));
  const names = new Set(top.files.map(({ name }) => name));
  if (listing.ok && top.directories.length + names.size === 0)
    return { kind: "report", text: compose(`There are no files in ${nameOf(path)}`, []), reported: [log, status] };

  const manifestPaths = manifestNames.filter((name) => names.has(name)).slice(0, maxManifests);
  const readmeName = [...names].find((name) => /^readme(\.\w+)?$/i.test(name));
  const kept = [readmeName, names.has(".gitignore") ? ".gitignore" : undefined].filter((name) => name !== undefined);
  const [counted, todos, described, below, ...others] = yield* callAll(
    "Counting lines, reading the README and the manifests",
    [
      countLines(path),
      grep(todoPattern, { path, glob: foreignGlob, output_mode: "content", head_limit: 10 }),
      findDescriptions(path),
      glob(`*/**/{${packageManifests.join(",")}}`, path),
      ...kept.map((name) => read(joinPath(path, name), 120)),
      ...manifestPaths.map((name) => read(joinPath(path, name), 1_000)),
      ...(names.has("go.mod") ? [findGoPackages(path)] : []),
    ],
  );
  const pageOf = (name: string | undefined) =>
    others.find(({ ok, call }) => ok && name !== undefined && call.input["file_path"] === joinPath(path, name));
  const manifests = manifestPaths.flatMap((name) => manifestOf(pageOf(name), names));
  const goPackages = others.find(({ call }) => call.name === "Grep");

  const isIgnored = ignoredNames(pageOf(".gitignore"));
  const isDelegated = (known: Parameters<typeof partsOf>[0]) => canDelegate && partsOf(known).length > 0;
  const counts = counted?.ok ? parseCounts(counted.text) : yield* countByNames(path);
  const survey = yield* surveyFiles(counts, { path, top, isIgnored, isDelegated });

  const found = packageManifestsIn(parsePaths(resultText(below)).paths, { path, top: manifests });
  const chosen = found.slice(0, maxPackages);
  const results = yield* callAll(
    `Reading the manifests of ${plural(chosen.length, "package")}`,
    chosen.map((name) => read(name, 1_000)),
  );
  // A manifest without a name only sets options, such as the module type of the files in its directory.
  const packages = results
    .flatMap((result) => manifestOf(result))
    .filter(({ title }) => title !== undefined)
    .map((manifest) => ({ path: directoryOf(manifest.path), manifest }));
  const parts = canDelegate ? yield* delegateParts(survey, packages) : [];
  const hits = [described, goPackages].flatMap((result) => parseHits(resultText(result)).hits);
  const text = mapReport({
    path,
    top,
    survey,
    readme: pageOf(readmeName),
    manifests,
    packages,
    otherPackages: found.slice(maxPackages).map(directoryOf),
    todos: parseHits(resultText(todos)),
    describe: describeDirectories(hits, packages),
    parts,
    log,
    status,
  });
  return { kind: "report", text, reported: [log, status, ...parts.map(({ result }) => result)] };
}

function nameOf(path: string): string {
  return path === "." ? "this directory" : path;
}

/** Leaves out third-party code, build output and version control files. */
function ownEntries(listing: Listing): Listing {
  return {
    ...listing,
    directories: listing.directories.filter((name) => !foreignDirectories.includes(name)),
    files: listing.files.filter(({ name }) => name !== ".git"),
  };
}

function manifestOf(result: CallResult | undefined, beside: ReadonlySet<string> = new Set()) {
  if (!result?.ok) return [];
  return [readManifest({ path: String(result.call.input["file_path"]), page: parsePage(result.text), beside })];
}

/**
 * Returns a predicate for names that the top-level .gitignore excludes. It is needed because a search that starts
 * inside an ignored directory would count the files there.
 */
function ignoredNames(result: CallResult | undefined): (name: string) => boolean {
  const names = new Set(parsePage(resultText(result)).lines.map(({ text }) => text.trim().replace(/^\/|\/$/g, "")));
  return (name) => names.has(name);
}
