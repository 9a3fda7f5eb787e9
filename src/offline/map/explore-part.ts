import { plural } from "../../lib/index.ts";
import { anyDefinitionPattern } from "../jobs/definitions.ts";
import { type CallResult, callAll, callTools, type Job, list, read, resultText } from "../jobs/job.ts";
import { clip, compose, rows } from "../jobs/report.ts";
import { type FileCount, type Page, parseCounts, parseHits, parseListing, parsePage } from "../jobs/results.ts";
import { describeDirectories, findDescriptions } from "./describe-directories.ts";
import { baseName, isTest, languageOf } from "./languages.ts";
import { leadingComment } from "./leading-comment.ts";
import { manifestNames, readManifest } from "./manifests/read-manifest.ts";
import { directoryLines } from "./map-layout.ts";
import { aboutLines, entryLines, testLines } from "./map-report.ts";

import { readReadme } from "./read-readme.ts";
import { countByNames, countLines, joinPath, type Survey, surveyFiles } from "./survey-files.ts";

const maxDirectories = 30;
const maxKeyFiles = 6;

/**
 * Explores one directory on behalf of an agent that maps the whole repository. Uses read-only tools and starts no
 * agents.
 */
export function* explorePart(path: string): Job {
  const { listing, counted, described } = yield* callTools(`Looking at ${path}`, {
    listing: list(path),
    counted: countLines(path),
    described: findDescriptions(path),
  });
  const counts = counted.ok ? parseCounts(counted.text) : yield* countByNames(path);
  if (counts.totalFiles === 0) return nothingFound(path, [listing, counted, described]);
  const top = parseListing(resultText(listing));
  const survey = yield* surveyFiles(counts, { path, top, isIgnored: () => false, maxCounted: maxDirectories });
  const names = top.files.map(({ name }) => name);
  const readme = names.filter((name) => /^readme(\.\w+)?$/i.test(name)).slice(0, 1);
  const manifest = manifestNames.filter((name) => names.includes(name)).slice(0, 1);
  const [readmePath, manifestPath] = [readme, manifest].map(([name]) => name && joinPath(path, name));
  const others = survey.files.filter((file) => file.path !== readmePath && file.path !== manifestPath);
  const key = keyFiles(others, { path, most: maxKeyFiles });
  const pages = yield* callAll(`Reading the key files in ${path}`, [
    ...[readmePath, manifestPath].flatMap((name) => (name ? [read(name, 1_000)] : [])),
    ...key.map((file) => read(file.path, 60)),
  ]);
  const pageOf = (name: string | undefined) => pages.find((page) => page.ok && page.call.input["file_path"] === name);
  const manifests = [pageOf(manifestPath)].flatMap((page) =>
    page && manifestPath
      ? [readManifest({ path: manifestPath, page: parsePage(page.text), beside: new Set(names) })]
      : [],
  );
  const describe = describeDirectories(parseHits(resultText(described)).hits, []);
  const text = compose(`${path}: ${sizeOf(survey)}`, [
    { heading: "What it is", lines: whatItIs(aboutLines({ readme: pageOf(readmePath), manifests }), describe(path)) },
    { heading: "Directories", lines: directoryLines(survey.directories, describe, maxDirectories) },
    { heading: "Key files", lines: rows(key.map((file) => describeFile(file, resultText(pageOf(file.path))))) },
    { heading: "Entry points", lines: entryLines({ manifests, survey: withoutInnerEntryPoints(survey, path), path }) },
    { heading: "Tests", lines: testLines(survey) },
  ]);
  return { kind: "report", text };
}

/** Returns the directory's own description or, if there is none, the comment in its entry point. */
function whatItIs(own: readonly string[], comment: string): readonly string[] {
  if (own.length > 0) return own;
  return comment === "" ? [] : [`- ${clip(comment, 200)}`];
}

/** Leaves out entry points in subdirectories, which belong to those directories. */
function withoutInnerEntryPoints(survey: Survey, path: string): Survey {
  const files = survey.files.filter(
    (file) => !isEntryPoint(file.path) || file.path === joinPath(path, baseName(file.path)),
  );
  return { ...survey, files };
}

function nothingFound(path: string, results: readonly CallResult[]) {
  const why = results.find(({ ok }) => !ok)?.text ?? "it has no text files.";
  return {
    kind: "refusal" as const,
    text: `${path} could not be explored: ${clip(why, 300)}\n`,
    reported: results,
  };
}

function sizeOf({ total, languages }: Survey): string {
  const kinds = languages.slice(0, 4).map(({ name, files }) => `${name} (${files})`);
  const lines = total.lines === 0 ? "" : ` with ${plural(total.lines, "line")}`;
  return `${plural(total.files, "text file")}${lines}: ${kinds.join(", ")}`;
}

/** Returns the files to open first: the entry point, files that start a program, then the largest files. */
function keyFiles(files: readonly FileCount[], { path, most }: { readonly path: string; readonly most: number }) {
  return files
    .flatMap((file) => {
      const rank = rankOf(file.path, path);
      return rank === undefined ? [] : [{ ...file, rank }];
    })
    .sort((left, right) => left.rank - right.rank || right.count - left.count || (left.path < right.path ? -1 : 1))
    .slice(0, most);
}

const ranks = { entry: 0, start: 1, code: 2, test: 3, prose: 3, other: 4 } as const;

/**
 * Returns the rank of a file; undefined for files that are not worth opening, such as entry points of subdirectories.
 */
function rankOf(file: string, directory: string): number | undefined {
  const name = baseName(file);
  const language = languageOf(file);
  if (language === undefined || /[.-]min\.|\.lock$|-lock\.|\.snap$|\.d\.[cm]?ts$/.test(name)) return undefined;
  if (isTest(file)) return ranks.test;
  if (!language.isCode) return /^(Markdown|reStructuredText)$/.test(language.name) ? ranks.prose : ranks.other;
  if (isEntryPoint(file)) return file === joinPath(directory, name) ? ranks.entry : undefined;
  return /^(main|cli|app|server|__main__)\./.test(name) ? ranks.start : ranks.code;
}

function isEntryPoint(path: string): boolean {
  return /^(index|mod|lib|__init__)\.\w+$/.test(baseName(path));
}

/**
 * Returns the location of a file and one line about it: its comment, or else what it tests or defines, or else its
 * size.
 */
function describeFile({ path, count }: FileCount, text: string): readonly [string, string] {
  const page = parsePage(text);
  const comment = /\.(md|markdown|mdx|rst)$/i.test(path) ? heading(page) : leadingComment(page);
  if (comment[0] !== undefined)
    return [`${path}:${comment[0].number}`, clip(comment.map((line) => line.text).join(" "), 100)];
  const tested = isTest(path) ? titles(page) : [];
  const lines = tested.length > 0 ? tested : names(page);
  if (lines[0] === undefined) return [path, count === 0 ? "" : plural(count, "line")];
  const found = [...new Set(lines.map((line) => line.text))];
  const description = tested.length > 0 ? `tests ${found.join("; ")}` : `defines ${found.join(", ")}`;
  return [`${path}:${lines[0].number}`, clip(description, 100)];
}

function names({ lines }: Page): Page["lines"] {
  return lines.flatMap((line) => {
    const name = definition.test(line.text) ? nameForm.exec(line.text)?.[1] : undefined;
    return name === undefined ? [] : [{ number: line.number, text: name }];
  });
}

/** Returns the titles of tests, or the names of test functions. */
function titles({ lines }: Page): Page["lines"] {
  return lines.flatMap((line) => {
    const title = titleOf(line.text);
    return title === undefined ? [] : [{ number: line.number, text: title }];
  });
}

function titleOf(text: string): string | undefined {
  const found = titleForm.exec(text)?.groups;
  return found?.["title"] ?? found?.["name"];
}

const titleForm =
  /^\s*(?:describe|context|it|test)(?:\.\w+)*\(\s*(?<mark>["'\x60])(?<title>.+?)\k<mark>|\b(?:def|fn|func) (?<name>test_\w+|Test\w+)/;
const definition = new RegExp(anyDefinitionPattern);
const nameForm =
  /(?:function\*?|class|interface|type|enum|struct|trait|def|fn|func|fun|const|let|var|module|object|record|mod)\s+(?:\([^)]*\)\s*)?([\w$]+)/;

function heading(page: Page): Page["lines"] {
  const { title, paragraph } = readReadme(page);
  return [title ?? paragraph].filter((line) => line !== undefined);
}
