import { plural } from "../../lib/index.ts";
import { parseCommits, whyNoHistory } from "../jobs/git-history.ts";
import { clip, compose, firstOf, rows, type Section } from "../jobs/report.ts";
import { parsePage } from "../jobs/results.ts";
import { isTest, languageOf, testsAmong } from "./languages.ts";
import type { Fact, Manifest } from "./manifests/manifest.ts";
import type { MapFindings } from "./map-findings.ts";
import { amountOfLines, innerSection, layoutLines, packageLines } from "./map-layout.ts";
import { partSections } from "./map-parts.ts";
import { type Readme, readReadme } from "./read-readme.ts";
import type { Survey } from "./survey-files.ts";

export function mapReport(findings: MapFindings): string {
  const { path, manifests, survey, todos } = findings;
  const named = manifests.find(({ title }) => title !== undefined)?.title ?? readmeOf(findings).title?.text;
  return compose(`Map of ${named ?? (path === "." ? "this directory" : path)}`, [
    { heading: "What it is", lines: aboutLines(findings) },
    { heading: "Layout", lines: layoutLines(findings) },
    { heading: "Packages", lines: packageLines(findings) },
    innerSection(findings),
    ...partSections(findings.parts),
    { heading: "Languages", lines: languageLines(survey) },
    { heading: "Entry points", lines: entryLines(findings) },
    { heading: "Commands", lines: factLines(commandsOf(manifests), 10) },
    { heading: "Largest source files", lines: largestLines(survey) },
    { heading: "Tests", lines: testLines(survey) },
    todoSection(todos),
    { heading: "Recent history", lines: historyLines(findings) },
  ]);
}

function readmeOf({ readme }: Pick<MapFindings, "readme">): Readme {
  return readme?.ok ? readReadme(parsePage(readme.text)) : {};
}

export function aboutLines({ readme, manifests }: Pick<MapFindings, "readme" | "manifests">): string[] {
  const { description } = manifests.find((manifest) => manifest.description !== undefined) ?? {};
  const { paragraph } = readmeOf({ readme });
  const lines = description ? [`- ${description.where}  ${clip(description.detail, 200)}`] : [];
  if (paragraph && letters(paragraph.text) !== letters(description?.detail ?? ""))
    lines.push(`- ${String(readme?.call.input["file_path"])}:${paragraph.number}  ${clip(paragraph.text, 320)}`);
  return lines;
}

function letters(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\d]/gu, "");
}

const maxLanguages = 6;

function languageLines({ languages, total }: Survey): string[] {
  const shown = languages.filter(({ name, files }) => name !== "other" && files * 100 >= total.files);
  return rows(
    shown.slice(0, maxLanguages).map(({ name, files, lines }) => [name, plural(files, "file"), amountOfLines(lines)]),
  );
}

const endings = "(?:ts|tsx|mts|js|jsx|mjs|cjs|py|go|rs|kt|cs|rb|php|c|cpp|swift)";
const usualEntries = new RegExp(
  [
    `^(?:(?:src|app|lib|bin)/)?(?:index|lib|mod)\\.${endings}$`,
    `^(?:(?:src/|cmd/)?[\\w-]+/)?(?:main|cli|app|server|manage|__main__|Program|Main)\\.${endings}$`,
    "^(?:.*/)?src/main/java/.*/(?:Main|\\w*Application)\\.java$",
  ].join("|"),
);
const maxEntries = 8;

export function entryLines({
  manifests,
  survey,
  path,
  packages = [],
}: Pick<MapFindings, "manifests" | "survey" | "path"> & Partial<Pick<MapFindings, "packages">>): string[] {
  const roots = [path, ...packages.map((one) => one.path)].filter((root) => root !== ".").map((root) => `${root}/`);
  const below = (file: string) => {
    const root = roots.filter((one) => file.startsWith(one)).sort((left, right) => right.length - left.length)[0] ?? "";
    return file.slice(root.length);
  };
  // A program is more informative than an index file, and a file near the top is more informative than one further
  // down.
  const rank = (file: string) => file.split("/").length + (/\/?(index|lib|mod)\.\w+$/.test(file) ? 10 : 0);
  const files = survey.files
    .map((file) => file.path)
    .filter((file) => usualEntries.test(below(file)) && !isTest(file))
    .sort((left, right) => rank(left) - rank(right) || (left < right ? -1 : 1));
  const facts = factLines(
    manifests.flatMap(({ entries }) => entries),
    maxEntries,
  );
  const left = files.length - maxEntries;
  const more = left > 0 ? ` and ${left} more` : "";
  return files.length === 0 ? facts : [...facts, `- by name: ${files.slice(0, maxEntries).join(", ")}${more}`];
}

/** Returns the commands from all manifests. Commands that install, start, build and test come first. */
function commandsOf(manifests: readonly Manifest[]): Fact[] {
  const firstWords = ["install", "sync", "start", "dev", "build", "test", "pytest", "verify", "check", "lint"];
  const rank = ({ what }: Fact) => {
    const found = firstWords.findIndex((word) => new RegExp(`^\\S+ (?:run )?${word}\\b(?![:-])|^${word}$`).test(what));
    return found < 0 ? firstWords.length : found;
  };
  return manifests.flatMap(({ commands }) => commands).sort((left, right) => rank(left) - rank(right));
}

function factLines(facts: readonly Fact[], count: number): string[] {
  const lines = rows(facts.map((fact) => [fact.where, fact.what, clip(fact.detail, 80)]));
  return firstOf(lines, count);
}

/** Minimum number of lines in a file that is worth listing. */
const fewestLines = 100;

function largestLines({ files }: Survey): string[] {
  const source = files.filter(
    ({ path, count }) =>
      count >= fewestLines &&
      languageOf(path)?.isCode &&
      !isTest(path) &&
      !/[.-]min\.|\.lock$|\.d\.[cm]?ts$/.test(path),
  );
  const largest = source.sort((left, right) => right.count - left.count || (left.path < right.path ? -1 : 1));
  return rows(largest.slice(0, 6).map(({ path, count }) => [path, amountOfLines(count)]));
}

const maxPlaces = 6;

export function testLines({ files, complete, tests = 0 }: Survey): string[] {
  const places = new Map<string, number>();
  for (const { path } of testsAmong(files)) {
    const place = path.split("/").slice(0, -1).slice(0, 2).join("/") || ".";
    places.set(place, (places.get(place) ?? 0) + 1);
  }
  const count = Math.max(
    tests,
    [...places.values()].reduce((left, right) => left + right, 0),
  );
  if (count === 0) return [];
  const most = [...places].sort((left, right) => right[1] - left[1] || (left[0] < right[0] ? -1 : 1));
  const shown = most
    .slice(0, maxPlaces)
    .map(([place, number]) => (complete && most.length > 1 ? `${place} (${number})` : place));
  const more = most.length > maxPlaces ? ` and ${most.length - maxPlaces} more` : "";
  const where = shown.length === 0 ? "" : `${complete ? "" : ", most of them"} in ${shown.join(", ")}${more}`;
  return [`- ${complete ? "" : "about "}${plural(count, "file")}${where}`];
}

function todoSection({ hits, left }: MapFindings["todos"]): Section {
  const lines = rows(hits.map(({ path, line, text }) => [`${path}:${line}`, clip(text, 90)]));
  const shown = left > 0 ? `, the first ${hits.length}` : "";
  return { heading: `TODO and FIXME: ${plural(hits.length + left, "comment")}${shown}`, lines };
}

function historyLines({ log, status }: MapFindings): string[] {
  const commits = parseCommits(log.text);
  if (commits.length === 0) return [`- ${whyNoHistory(log)}`];
  const lines = rows(
    commits.slice(0, 6).map(({ hash, date, author, subject }) => [hash, date, clip(author, 24), clip(subject, 80)]),
  );
  if (!status.ok) return lines;
  const [branch = "", ...changes] = status.text.split("\n").filter((line) => /^(##|.. \S)/.test(line));
  const changed = changes.length === 0 ? "no uncommitted changes" : plural(changes.length, "uncommitted file");
  lines.push(`- branch ${clip(branch.replace(/^## /, ""), 80)}, ${changed}`);
  return lines;
}
