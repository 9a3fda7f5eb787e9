import { plural } from "../../lib/index.ts";
import { baseName, isTest, languageOf } from "../map/languages.ts";
import { leadingComment } from "../map/leading-comment.ts";
import { readReadme } from "../map/read-readme.ts";
import { countLines, foreignGlob, joinPath } from "../map/survey-files.ts";
import { anyDefinitionPattern, todoPattern } from "./definitions.ts";
import { type CallResult, callAll, callTools, glob, grep, type Job, list, type Report, read } from "./job.ts";
import { clip, compose, failure, firstOf, rows } from "./report.ts";
import { type Page, parseCounts, parseHits, parseListing, parsePage, parsePaths } from "./results.ts";

/** Summarizes a file or a directory that is given by its path or only by its name. */
export function* summarize(path: string): Job {
  const first = yield* open(path);
  if (first.ok) return yield* summarizeResult(path, first);
  if (/is (not )?a directory/.test(first.text)) {
    const other = yield* first.call.name === "Read" ? openDirectory(path) : openFile(path);
    return other.ok ? withoutFailure(yield* summarizeResult(path, other), first) : notFound(path);
  }
  if (/permission denied/i.test(first.text)) return failure(`${path}: permission denied`);
  const { named, inside } = yield* callTools(`${path} does not exist: looking for its name elsewhere`, {
    named: glob(`**/{${baseName(path)},${baseName(path)}.*}`),
    inside: glob(`**/${baseName(path)}/*`),
  });
  const files = pathsIn(named);
  const directories = pathsIn(inside).map((file) => file.slice(0, file.lastIndexOf("/")));
  const found = [...new Set([...directories, ...files])].sort((left, right) => left.length - right.length);
  const best = found[0];
  if (best === undefined) return notFound(path);
  const second = yield* directories.includes(best) ? openDirectory(best) : openFile(best);
  return second.ok ? withoutFailure(yield* summarizeResult(best, second), first) : notFound(path);
}

function notFound(path: string): Report {
  return failure(`${path}: not found`);
}

function* summarizeResult(path: string, result: CallResult): Job {
  return yield* result.call.name === "LS" ? summarizeDirectory(path, result) : summarizeFile(path, result);
}

function isFileName(path: string): boolean {
  return /\.\w+$/.test(baseName(path)) || /^(README|LICENSE|Makefile|Dockerfile)$/.test(baseName(path));
}

function open(path: string) {
  return isFileName(path) ? openFile(path) : openDirectory(path);
}

function* openFile(path: string) {
  const { page } = yield* callTools(`Reading ${path}`, { page: read(path) });
  return page;
}

function* openDirectory(path: string) {
  const { listing } = yield* callTools(`Listing ${path}`, { listing: list(path) });
  return listing;
}

function pathsIn(result: CallResult): readonly string[] {
  return result.ok ? parsePaths(result.text).paths : [];
}

/** Marks a failed call as reported, because another call has replaced it. */
function withoutFailure(report: Report, failure: CallResult): Report {
  return { ...report, reported: [...(report.reported ?? []), failure] };
}

const importPattern =
  "^\\s*(import|from|use|using|#include|require|include|extern crate|open|alias)\\b.*|^\\} from |= require\\(|^\\s*export .* from ";

/** Reports the size and language of a file, its first comment, imports and definitions. */
function* summarizeFile(path: string, page: CallResult): Job {
  const directory = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : ".";
  const prose = /\.(md|markdown|mdx|rst|txt)$/i.test(path);
  const content = { path, output_mode: "content" };
  const { listing, defined, imported, todos } = yield* callTools(`Looking for definitions in ${path}`, {
    listing: list(directory),
    defined: grep(prose ? "^#{1,4} " : anyDefinitionPattern, { ...content, head_limit: 80 }),
    imported: grep(importPattern, { ...content, head_limit: 80 }),
    todos: grep(todoPattern, { ...content, head_limit: 10 }),
  });
  const parsed = parsePage(page.text);
  const size = listing.ok
    ? parseListing(listing.text).files.find(({ name }) => name === baseName(path))?.size
    : undefined;
  const language = languageOf(path)?.name ?? "unknown kind";
  const length =
    parsed.total === undefined ? `more than ${plural(parsed.lines.length, "line")}` : plural(parsed.total, "line");
  const kind = isTest(path) ? `${language}; a test, judging by its name` : language;
  const definitions = hitLines(defined, path);
  const comment = leadingComment(parsed);
  const text = compose(path, [
    {
      heading: "What it is",
      lines: [
        `- ${[kind, length, size].filter((part) => part !== undefined && part !== "").join(", ")}`,
        ...jsonLines(path, parsed),
      ],
    },
    {
      heading: "It begins with",
      lines: comment.map(({ number, text: line }) => `- ${path}:${number}  ${clip(line, 200)}`),
    },
    { heading: prose ? "Headings" : "Defines and exports", lines: firstOf(definitions, 30) },
    { heading: "Imports", lines: prose ? [] : importLines(imported) },
    { heading: "TODO and FIXME", lines: hitLines(todos, path) },
    definitions.length + comment.length === 0 ? { heading: "First lines", lines: firstLines(parsed) } : undefined,
  ]);
  return { kind: "report", text };
}

function hitLines(result: CallResult, path: string): string[] {
  if (!result.ok) return [];
  return rows(
    parseHits(result.text).hits.map(({ line, text }) => [
      `${path}:${line}`,
      clip(text.replace(/(?<!\s)\s*\{$/, ""), 110),
    ]),
  );
}

/** Lists the imported modules as written. */
function importLines(result: CallResult): string[] {
  if (!result.ok) return [];
  const { hits } = parseHits(result.text);
  const names = hits.flatMap(({ text }) => {
    const quoted = /["'<]([^"'<>]+)["'>]/.exec(text)?.[1];
    const bare = /^\s*(?:from|import|use|using|open|alias)\s+([\w.:]+)/.exec(text)?.[1];
    const name = quoted ?? (text.includes("{") ? undefined : bare);
    return name === undefined ? [] : [name];
  });
  const unique = [...new Set(names)];
  return unique.length === 0 ? [] : [`- ${plural(unique.length, "module")}: ${clip(unique.join(", "), 400)}`];
}

function jsonLines(path: string, { lines }: Page): string[] {
  if (!/\.jsonc?$/.test(path)) return [];
  const keys = lines.flatMap(({ text }) => /^(?: {2}| {4}|\t)"([^"]+)"\s*:/.exec(text)?.[1] ?? []);
  return keys.length === 0 ? [] : [`- top-level keys: ${clip([...new Set(keys)].join(", "), 300)}`];
}

function firstLines({ lines }: Page): string[] {
  return lines.slice(0, 8).map(({ number, text }) => `${String(number).padStart(5)}  ${text.slice(0, 140)}`);
}

const maxRead = 14;

/** Reports the entries in a directory, with the first comment in each file. */
function* summarizeDirectory(path: string, result: CallResult): Job {
  const { directories, files, left } = parseListing(result.text);
  const readme = files.find(({ name }) => /^readme(\.\w+)?$/i.test(name))?.name;
  const source = files
    .filter(({ name }) => languageOf(name)?.isCode && !isTest(joinPath(path, name)))
    .map(({ name }) => name);
  const entryPoints = source.filter((name) => /^(index|main|mod|lib|__init__|cli|app)\./.test(name));
  const chosen = [...(readme ? [readme] : []), ...new Set([...entryPoints, ...source])].slice(0, maxRead);
  const [counted, defined, ...pages] = yield* callAll(`Reading the first lines of the files in ${path}`, [
    countLines(path),
    grep(anyDefinitionPattern, { path, glob: foreignGlob, output_mode: "content", head_limit: 250 }),
    ...chosen.map((name) => read(joinPath(path, name), 30)),
  ]);
  const counts = parseCounts(counted?.ok ? counted.text : "");
  const lines = new Map(counts.files.map((file) => [file.path, file.count]));
  const exported = exportsByFile(defined);
  const comments = new Map(chosen.map((name, index) => [name, commentOf(pages[index])]));
  const cells = files.map(({ name, size }) => {
    const file = joinPath(path, name);
    const amount = lines.get(file);
    const about = comments.get(name) || (exported.get(file) ?? []).join(", ");
    return [name, amount === undefined ? size : plural(amount, "line"), clip(about, 100)];
  });
  const inner = directories.map((name) => {
    const below = counts.files.filter((file) => file.path.startsWith(`${joinPath(path, name)}/`));
    return [
      `${name}/`,
      plural(below.length, "file"),
      plural(
        below.reduce((sum, file) => sum + file.count, 0),
        "line",
      ),
    ];
  });
  const cut = left > 0 ? [`- and ${left} more that the listing left out`] : [];
  const text = compose(`${path}: ${plural(counts.totalFiles, "text file")}, ${plural(counts.totalLines, "line")}`, [
    {
      heading: "Self-description",
      lines: selfDescription(pages[0]),
    },
    { heading: "Directories", lines: firstOf(rows(inner), 20) },
    { heading: "Files", lines: [...firstOf(rows(cells), 40), ...cut] },
  ]);
  return { kind: "report", text };
}

function exportsByFile(result: CallResult | undefined): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { path, text } of result?.ok ? parseHits(result.text).hits : []) {
    const name =
      /(?:function\*?|class|interface|type|enum|struct|trait|def|fn|func|fun|const|let|var|module|object|record|mod)\s+(?:\([^)]*\)\s*)?([\w$]+)/.exec(
        text,
      )?.[1];
    if (name !== undefined) found.set(path, [...(found.get(path) ?? []), name]);
  }
  return found;
}

function commentOf(result: CallResult | undefined): string {
  if (!result?.ok) return "";
  return leadingComment(parsePage(result.text))
    .map(({ text }) => text)
    .join(" ");
}

/** Returns the beginning of the README or the entry point. */
function selfDescription(result: CallResult | undefined): string[] {
  const path = String(result?.call.input["file_path"]);
  if (!result?.ok || !/(^|\/)(readme|index|mod|lib|__init__)(\.\w+)?$/i.test(path)) return [];
  const page = parsePage(result.text);
  const { title, paragraph } = readReadme(page);
  const lines = /(^|\/)readme/i.test(path) ? [title, paragraph] : leadingComment(page);
  return lines.flatMap((line) => (line ? [`- ${path}:${line.number}  ${clip(line.text, 200)}`] : []));
}
