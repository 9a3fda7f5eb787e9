import { plural } from "../../lib/index.ts";
import { ask, askAll, type Job, list, read, type Seen, textIn } from "../jobs/job.ts";
import { clip, composePlain, rows } from "../jobs/report.ts";
import { type Hit, parseCounts, parseHits, parseListing, parsePage } from "../jobs/results.ts";
import { aboutFile, isEntryPoint, keyFiles } from "./key-files.ts";
import { baseName, isTest } from "./languages.ts";
import { directoryLines, wordsOfEntryPoint } from "./map-layout.ts";
import { aboutLines, entryLines, testLines } from "./map-report.ts";
import { manifestNames, readManifest } from "./read-manifest.ts";
import { countByNames, countLines, findEntryPoints, joinPath, type Survey, surveyFiles } from "./survey-files.ts";

const maxDirectories = 30;
const maxKeyFiles = 6;

/** One directory, looked at for an agent that maps the whole. It needs tools that look, and sends nobody. */
export function* explorePart(path: string): Job {
  const { listing, counted, entryPoints } = yield* ask(`Looking at ${path}.`, {
    listing: list(path),
    counted: countLines(path),
    entryPoints: findEntryPoints(path),
  });
  const counts = counted.ok ? parseCounts(counted.text) : yield* countByNames(path);
  if (counts.totalFiles === 0) return nothingSeen(path, [listing, counted, entryPoints]);
  const top = parseListing(textIn(listing));
  const survey = yield* surveyFiles(counts, { path, top, isIgnored: () => false, maxCounted: maxDirectories });
  const names = top.files.map(({ name }) => name);
  const readme = names.filter((name) => /^readme(\.\w+)?$/i.test(name)).slice(0, 1);
  const manifest = manifestNames.filter((name) => names.includes(name)).slice(0, 1);
  const [readmePath, manifestPath] = [readme, manifest].map(([name]) => name && joinPath(path, name));
  const others = survey.files.filter((file) => file.path !== readmePath && file.path !== manifestPath);
  const key = keyFiles(others, { path, most: maxKeyFiles });
  const pages = yield* askAll("Reading what its files say about themselves.", [
    ...[readmePath, manifestPath].flatMap((name) => (name ? [read(name, 1_000)] : [])),
    ...key.map((file) => read(file.path, 60)),
  ]);
  const pageOf = (name: string | undefined) => pages.find((seen) => seen.ok && seen.call.input["file_path"] === name);
  const manifests = [pageOf(manifestPath)].flatMap((seen) =>
    seen && manifestPath ? [readManifest(manifestPath, parsePage(seen.text))] : [],
  );
  const speaking = parseHits(textIn(entryPoints)).hits;
  const text = composePlain(`${path}: ${sizeOf(survey)}`, [
    {
      heading: "What it is",
      lines: whatItIs(aboutLines({ readme: pageOf(readmePath), manifests }), { path, survey, speaking }),
    },
    { heading: "Size", lines: [`- ${sizeOf(survey)}`] },
    { heading: "Directories", lines: directoryLines(survey.directories, speaking, maxDirectories) },
    { heading: "Key files", lines: rows(key.map((file) => aboutFile(file, textIn(pageOf(file.path))))) },
    { heading: "Entry points", lines: entryLines({ manifests, survey: withoutInnerEntryPoints(survey, path), path }) },
    { heading: "Tests", lines: testLines({ survey, manifests }) },
  ]);
  return { kind: "report", text };
}

/** Words of its own; else those of the file that speaks for it; else what most of it is. */
function whatItIs(
  words: readonly string[],
  { path, survey, speaking }: { readonly path: string; readonly survey: Survey; readonly speaking: readonly Hit[] },
): readonly string[] {
  if (words.length > 0) return words;
  const entry = speaking.find((hit) => hit.line <= 3 && hit.path.slice(0, hit.path.lastIndexOf("/")) === path);
  if (entry) return [`- ${entry.path}:${entry.line}  ${clip(wordsOfEntryPoint(entry), 200)}`];
  const tests = survey.files.filter((file) => isTest(file.path)).length;
  const kind = `${survey.languages[0]?.name ?? "unknown kinds"}${tests * 2 > survey.files.length ? " tests" : ""}`;
  return [`- ${path}/  mostly ${kind}; no README or first comment says what it is for`];
}

/** An entry point further down is the entry of its own directory only. */
function withoutInnerEntryPoints(survey: Survey, path: string): Survey {
  const files = survey.files.filter(
    (file) => !isEntryPoint(file.path) || file.path === joinPath(path, baseName(file.path)),
  );
  return { ...survey, files };
}

function nothingSeen(path: string, seen: readonly Seen[]) {
  const why = seen.find(({ ok }) => !ok)?.text ?? "it has no text files.";
  return { kind: "refusal" as const, text: `There is nothing to tell of ${path}: ${clip(why, 300)}\n`, told: seen };
}

function sizeOf({ total, languages }: Survey): string {
  const kinds = languages.slice(0, 4).map(({ name, files }) => `${name} (${files})`);
  const lines = total.lines === 0 ? "" : ` with ${plural(total.lines, "line")}`;
  return `${plural(total.files, "text file")}${lines}: ${kinds.join(", ")}`;
}
