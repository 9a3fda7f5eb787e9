import { formatCount, plural } from "../../lib/index.ts";
import { parseCommits, whyNoHistory } from "../jobs/git-history.ts";
import { clip, compose, firstOf, rows, type Section } from "../jobs/report.ts";
import { parsePage } from "../jobs/results.ts";
import type { Part } from "./delegate-parts.ts";
import { isTest, languageOf } from "./languages.ts";
import type { MapFindings } from "./map-findings.ts";
import { amountOfLines, innerSection, layoutLines } from "./map-layout.ts";
import type { Fact, Manifest } from "./read-manifest.ts";
import type { Directory, Survey } from "./survey-files.ts";

export function mapReport(findings: MapFindings): string {
  const title = findings.manifests.find((manifest) => manifest.title !== undefined)?.title;
  const location = findings.path === "." ? "this directory" : findings.path;
  return compose(`Map of ${title ?? location}`, [
    { heading: "What it is", lines: aboutLines(findings) },
    { heading: "Layout", lines: layoutLines(findings) },
    innerSection(findings),
    ...partSections(findings.parts),
    languageSection(findings.survey),
    { heading: "Entry points", lines: entryLines(findings) },
    { heading: "Commands", lines: factLines(commandsOf(findings.manifests), 8, "command") },
    { heading: "Biggest source files", lines: biggestLines(findings.survey) },
    { heading: "Tests", lines: testLines(findings) },
    { heading: "TODO and FIXME", lines: todoLines(findings.todos) },
    { heading: "Recent history", lines: historyLines(findings) },
  ]);
}

export function aboutLines({ readme, manifests }: Pick<MapFindings, "readme" | "manifests">): string[] {
  const lines: string[] = [];
  const described = manifests.find(({ description }) => description !== undefined)?.description;
  if (described) lines.push(`- ${described.where}  ${clip(described.detail, 200)}`);
  if (!readme) return lines;
  const path = String(readme.call.input["file_path"]);
  const { lines: text } = parsePage(readme.text);
  const heading = text.find((line) => /^#+\s+\S/.test(line.text)) ?? text.find((line) => /\w/.test(line.text));
  if (heading) lines.push(`- ${path}:${heading.number}  ${clip(heading.text.replace(/^#+\s+/, ""))}`);
  const from = heading ? text.indexOf(heading) + 1 : 0;
  const start = text.findIndex(
    (line, index) => index >= from && /^[A-Za-z*_`"'(>]/.test(line.text) && !/^[=~-]+$/.test(line.text),
  );
  if (start < 0) return lines;
  const rest = text.slice(start);
  const end = rest.findIndex((line) => line.text.trim() === "");
  const paragraph = rest.slice(0, end < 0 ? rest.length : end);
  lines.push(`- ${path}:${paragraph[0]?.number}  ${clip(paragraph.map((line) => line.text).join(" "), 320)}`);
  return lines;
}

function languageSection({ languages, total, complete, files }: Survey): Section {
  const lines = rows(
    languages
      .slice(0, 7)
      .map(({ name, files: count, lines: sum }) => [
        name,
        plural(count, "file"),
        share(count, total.files),
        amountOfLines(sum),
      ]),
  );
  if (languages.length > 7) lines.push(`- and ${plural(languages.length - 7, "other kind")}`);
  if (!complete)
    lines.push(
      `- paths below are from the ${formatCount(files.length)} of ${formatCount(total.files)} files whose names were shown`,
    );
  return { heading: "Languages by files", lines };
}

function share(part: number, whole: number): string {
  const percent = Math.round((100 * part) / Math.max(1, whole));
  return percent === 0 ? "< 1 %" : `${percent} %`;
}

const usualEntries =
  /^(src\/|app\/|lib\/|cmd\/[\w-]+\/|packages\/[\w-]+\/src\/|[\w-]+\/)?(index|main|cli|app|server|manage|__main__|lib|mod|Program|Main)\.(ts|tsx|mts|js|jsx|mjs|cjs|py|go|rs|java|kt|cs|rb|php|c|cpp|swift)$/;

export function entryLines({ manifests, survey, path }: Pick<MapFindings, "manifests" | "survey" | "path">): string[] {
  const facts = manifests.flatMap(({ entries }) => entries);
  const lines = factLines(facts, 8, "entry");
  const start = path === "." ? 0 : path.length + 1;
  const files = survey.files
    .filter((file) => usualEntries.test(file.path.slice(start)) && !isTest(file.path))
    .sort(
      (left, right) => left.path.split("/").length - right.path.split("/").length || (left.path < right.path ? -1 : 1),
    );
  const shown = rows(files.slice(0, 5).map((file) => [file.path, "an entry by its name"]));
  return [...lines, ...shown];
}

/** Returns the commands of all manifests; those that start, build and test come first. */
function commandsOf(manifests: readonly Manifest[]): Fact[] {
  const rank = ({ what }: Fact) => {
    const found = ["start", "build", "test", "check", "lint", "dev"].findIndex((word) =>
      new RegExp(`\\b${word}$`).test(what),
    );
    return found < 0 ? 9 : found;
  };
  return manifests
    .flatMap(({ commands }) => commands)
    .map((fact, index) => ({ fact, index }))
    .sort((left, right) => rank(left.fact) - rank(right.fact) || left.index - right.index)
    .map(({ fact }) => fact);
}

function factLines(facts: readonly Fact[], count: number, what: string): string[] {
  const lines = rows(facts.map((fact) => [fact.where, fact.what, clip(fact.detail, 80)]));
  return firstOf(lines, count, what);
}

function biggestLines({ files }: Survey): string[] {
  const source = files
    .filter(({ count }) => count > 0)
    .filter(({ path }) => languageOf(path)?.isCode && !isTest(path) && !/[.-]min\.|\.lock$/.test(path));
  const biggest = [...source].sort((left, right) => right.count - left.count || (left.path < right.path ? -1 : 1));
  return rows(biggest.slice(0, 6).map(({ path, count }) => [path, amountOfLines(count)]));
}

export function testLines({ survey, manifests }: Pick<MapFindings, "survey" | "manifests">): string[] {
  const tests = survey.files.filter(({ path }) => isTest(path));
  const places = new Map<string, number>();
  for (const { path } of tests) {
    const place = path.split("/").slice(0, -1).slice(0, 2).join("/") || ".";
    places.set(place, (places.get(place) ?? 0) + 1);
  }
  const lines: string[] = [];
  if (survey.tests !== undefined) lines.push(`- ${plural(survey.tests, "file")} by name`);
  else if (tests.length === 0) lines.push("- none found by name");
  if (tests.length > 0) {
    const most = [...places].sort((left, right) => right[1] - left[1] || (left[0] < right[0] ? -1 : 1));
    const where = most.slice(0, 6).map(([place, count]) => `${place} (${count})`);
    const rest = most.length > 6 ? ` and ${plural(most.length - 6, "more place")}` : "";
    const bound = survey.complete ? "" : " among the names shown";
    lines.push(`- ${plural(tests.length, "file")}${bound}: ${where.join(", ")}${rest}`);
  }
  const runners = manifests.flatMap((manifest) => manifest.runners);
  const runnerTexts = runners
    .slice(0, 4)
    .map(({ where, what, detail }) => `${where} ${[what, clip(detail, 50)].join(" ").trim()}`);
  if (runnerTexts.length > 0) lines.push(`- run by: ${runnerTexts.join("; ")}`);
  return lines;
}

function todoLines({ hits, left }: MapFindings["todos"]): string[] {
  if (hits.length === 0) return ["- none in comments"];
  const found = rows(hits.map(({ path, line, text }) => [`${path}:${line}`, clip(text, 90)]));
  return [`- ${plural(hits.length + left, "comment")}${left > 0 ? ", the first of them:" : ":"}`, ...found];
}

function historyLines({ log, status }: MapFindings): string[] {
  const commits = parseCommits(log.text);
  if (commits.length === 0) return [`- ${whyNoHistory(log)}`];
  const lines = rows(
    commits.slice(0, 6).map(({ hash, date, author, subject }) => [hash, date, clip(author, 24), clip(subject, 80)]),
  );
  if (!status.ok) return lines;
  const [branch = "", ...changes] = status.text.split("\n").filter((line) => /^(##|.. \S)/.test(line));
  const changed = changes.length === 0 ? "nothing uncommitted" : `${plural(changes.length, "uncommitted path")}`;
  lines.push(`- branch ${clip(branch.replace(/^## /, ""), 80)}: ${changed}`);
  return lines;
}

/** Maximum number of lines of a report in another form. */
const maxForeign = 20;

/** Returns one section for each part. A missing or partial report is stated. */
function partSections(parts: readonly Part[]): Section[] {
  return parts.map((part) => ({ heading: `Part ${part.directory.path}`, lines: linesOf(part) }));
}

function linesOf({ directory, report }: Part): string[] {
  if (report.kind === "none") return [`- not explored: ${clip(report.why, 300)}`, outsideLine(directory)];
  const cut = report.kind === "partial" ? [`- not whole: ${report.why}`, outsideLine(directory)] : [];
  const sections = sectionsOf(report.text);
  if (!shown.some(({ heading }) => sections.has(heading))) return [...cut, ...foreignLines(report.text)];
  return [...cut, ...shown.flatMap(({ heading, label }) => labelled(sections.get(heading) ?? [], label))];
}

/** Describes a directory that no agent explored. */
function outsideLine({ files, lines, inside, exact }: Directory): string {
  const amount = `${exact ? "" : "at least "}${plural(files, "file")}, ${plural(lines, "line")}`;
  return `- from outside: ${amount}: ${clip(inside.join(", "), 200)}`;
}

/** Sections of an agent's report, in the order of the map. A label precedes lines that are not clear on their own. */
const shown: readonly { readonly heading: string; readonly label?: string }[] = [
  { heading: "What it is" },
  { heading: "Size", label: "size" },
  { heading: "Tests", label: "tests" },
  { heading: "Directories" },
  { heading: "Key files" },
  { heading: "Entry points", label: "entry" },
  { heading: "What I could not see", label: "not seen" },
];

function labelled(lines: readonly string[], label: string | undefined): string[] {
  return label === undefined ? [...lines] : lines.map((line) => line.replace(/^- /, `- ${label}: `));
}

function sectionsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const sections = new Map<string, string[]>();
  let lines: string[] | undefined;
  for (const line of text.split("\n")) {
    const heading = /^## (.+)$/.exec(line)?.[1];
    if (heading !== undefined) {
      lines = sections.get(heading) ?? [];
      sections.set(heading, lines);
    } else if (line.startsWith("- ")) lines?.push(line);
  }
  return sections;
}

/** Removes headings, which would become sections of the map. */
function foreignLines(text: string): string[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return firstOf(
    lines.map((line) => `- ${clip(line.replace(/^(#+|[-*])\s+/, ""), 200)}`),
    maxForeign,
    "line",
  );
}
