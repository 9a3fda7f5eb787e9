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
import type { MapFindings } from "./map-findings.ts";
import { mapReport } from "./map-report.ts";
import { manifestNames, readManifest } from "./read-manifest.ts";
import {
  countByNames,
  countLines,
  findEntryPoints,
  foreignGlob,
  isOwn,
  joinPath,
  surveyFiles,
} from "./survey-files.ts";

const maxManifests = 4;
const maxNested = 3;

/** Maps a directory. All calls are limited to `path`. */
export function* mapRepository(path = ".", { canDelegate = false }: { readonly canDelegate?: boolean } = {}): Job {
  const { listing, log, status } = yield* callTools("Looking at the layout and the recent history.", {
    listing: list(path),
    log: git(`log -n 10 --date=short --format=%h%x09%ad%x09%an%x09%s -- ${quote(path)}`),
    status: git("status --short --branch"),
  });
  const top = parseListing(resultText(listing));
  if (listing.ok && top.directories.length + top.files.length === 0)
    return { kind: "report", text: compose("An empty directory", [emptySection(path)]), reported: [log, status] };

  const manifests = manifestsIn(top).map((name) => joinPath(path, name));
  const readme = top.files.find(({ name }) => /^readme(\.\w+)?$/i.test(name))?.name;
  const kept = [readme, top.files.find(({ name }) => name === ".gitignore")?.name].filter((name) => name !== undefined);
  const [counted, todos, entryPoints, below, ...files] = yield* callAll(
    "Counting files and lines, reading what describes the project.",
    [
      countLines(path),
      grep(todoPattern, { path, glob: foreignGlob, output_mode: "content", head_limit: 10 }),
      findEntryPoints(path),
      glob("*/**/{package.json,pyproject.toml,Cargo.toml,go.mod,pom.xml}", path),
      ...kept.map((name) => read(joinPath(path, name), 120)),
      ...manifests.map((name) => read(name, 1_000)),
    ],
  );
  const isIgnored = ignoredNames(files.find(({ call }) => String(call.input["file_path"]).endsWith(".gitignore")));
  const manifestsBelow = parsePaths(resultText(below));
  const nested = manifestsBelow.paths.filter(isOwn).sort();
  const isDelegated = (known: Parameters<typeof partsOf>[0]) => canDelegate && partsOf(known).length > 0;
  const counts = counted?.ok ? parseCounts(counted.text) : yield* countByNames(path);
  const survey = yield* surveyFiles(counts, { path, top, isIgnored, isDelegated });
  const inner = yield* callAll(
    "Reading the manifests below.",
    manifests.length > 0 ? [] : nested.slice(0, maxNested).map((name) => read(name, 1_000)),
  );
  const parts = canDelegate ? yield* delegateParts(survey) : [];
  const findings: MapFindings = {
    path,
    top,
    survey,
    nested: { paths: nested, left: manifestsBelow.left },
    readme: files.find(
      (result) => result.ok && readme !== undefined && result.call.input["file_path"] === joinPath(path, readme),
    ),
    manifests: [...files, ...inner].flatMap((result) => manifestOf(result, [...manifests, ...nested])),
    todos: parseHits(resultText(todos)),
    entryPoints: parseHits(resultText(entryPoints)).hits,
    parts,
    log,
    status,
  };
  return { kind: "report", text: mapReport(findings), reported: [log, status, ...parts.map(({ result }) => result)] };
}

function emptySection(path: string) {
  return { heading: "Layout", lines: [`- ${path} has no files and no directories.`] };
}

function manifestsIn(top: Listing): string[] {
  const names = new Set(top.files.map(({ name }) => name));
  return manifestNames.filter((name) => names.has(name)).slice(0, maxManifests);
}

function manifestOf(result: CallResult, known: readonly string[]) {
  const path = String(result.call.input["file_path"]);
  return result.ok && known.includes(path) ? [readManifest(path, parsePage(result.text))] : [];
}

/** Returns a test for names that the top .gitignore excludes. A search that starts inside such a directory would count it. */
function ignoredNames(result: CallResult | undefined): (name: string) => boolean {
  if (!result?.ok) return () => false;
  const names = new Set(parsePage(result.text).lines.map(({ text }) => text.trim().replace(/^\/|\/$/g, "")));
  return (name) => names.has(name);
}
