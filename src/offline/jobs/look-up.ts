import { plural } from "../../lib/index.ts";
import type { FindRequest, ListRequest, ReadRequest, SearchRequest } from "../job-request.ts";
import { isTest } from "../map/languages.ts";
import { foreignGlob } from "../map/survey-files.ts";
import { definitionPattern, escapePattern, isDefinition, todoPattern, usagePattern } from "./definitions.ts";
import { type CallResult, callAll, callTools, glob, grep, type Job, list, read } from "./job.ts";
import { clip, compose, failure, firstOf, rows, type Section } from "./report.ts";
import { type Hit, parseHits, parseListing, parsePage, parsePaths } from "./results.ts";

const maxLines = 200;

export function* browse({ path, pattern }: ListRequest): Job {
  if (pattern !== undefined) return yield* browseByPattern(pattern, path);
  const { listing } = yield* callTools(`Listing ${path}`, { listing: list(path) });
  if (!listing.ok) return failure(`${path} could not be listed`);
  const { directories, files, left } = parseListing(listing.text);
  const lines = [...directories.map((name) => `- ${name}/`), ...rows(files.map(({ name, size }) => [name, size]))];
  if (left > 0) lines.push(`- and ${left} more that the listing left out`);
  if (lines.length === 0) lines.push("- nothing: the directory is empty");
  const title = `${path}: ${plural(files.length, "file")} and ${directories.length === 1 ? "1 directory" : `${directories.length} directories`}`;
  return { kind: "report", text: compose(title, [{ heading: "Entries", lines: firstOf(lines, maxLines) }]) };
}

function* browseByPattern(pattern: string, path: string): Job {
  const { found } = yield* callTools(`Looking for ${pattern}`, { found: glob(pattern, path) });
  if (!found.ok) return failure(`${pattern}: could not be searched for`);
  const { paths, left } = parsePaths(found.text);
  const lines = paths.map((name) => `- ${name}`);
  if (left > 0) lines.push(`- and ${plural(left, "older file")} that the result left out`);
  return {
    kind: "report",
    text: compose(`${pattern}: ${plural(paths.length + left, "file")}`, [{ heading: "Files, newest first", lines }]),
  };
}

export function* readOne({ path }: ReadRequest): Job {
  const { page } = yield* callTools(`Reading ${path}`, { page: read(path) });
  if (!page.ok) return failure(`${path} could not be read`);
  const { lines, total } = parsePage(page.text);
  // Notebooks, pictures and empty files are returned without line numbers.
  const all =
    lines.length > 0
      ? lines.map(({ number, text }) => `${String(number).padStart(5)}  ${text}`)
      : page.text.split("\n");
  const shown = all.slice(0, maxLines);
  const rest = (total ?? all.length) - shown.length;
  const note =
    rest > 0 || total === undefined ? [`- ${total === undefined ? "more" : plural(rest, "more line")} not shown`] : [];
  return {
    kind: "report",
    text: compose(path, [{ heading: plural(total ?? all.length, "line"), lines: ["```", ...shown, "```", ...note] }]),
  };
}

export function* searchText({ text, path }: SearchRequest): Job {
  const isTodo = /^todos?$/i.test(text);
  const pattern = isTodo ? todoPattern : escapePattern(text);
  const { found } = yield* callTools(`Searching for ${text}`, {
    found: grep(pattern, {
      path,
      glob: foreignGlob,
      output_mode: "content",
      head_limit: 100,
      "-i": isTodo ? undefined : true,
    }),
  });
  if (!found.ok) return failure(`"${text}": could not be searched for`);
  const { hits, left } = parseHits(found.text);
  const files = new Set(hits.map((hit) => hit.path)).size;
  const lines = rows(hits.map((hit) => [`${hit.path}:${hit.line}`, clip(hit.text, 100)]));
  if (left > 0) lines.push(`- and ${plural(left, "more line")} that the search left out`);
  if (lines.length === 0) lines.push(`- no line in ${path} contains it`);
  const title = `${isTodo ? "TODO and FIXME comments" : `"${text}"`}: ${plural(hits.length + left, "line")} in ${plural(files, "file")}${left > 0 ? " or more" : ""}`;
  return { kind: "report", text: compose(title, [{ heading: "Lines", lines: firstOf(lines, maxLines) }]) };
}

const maxFiles = 12;
const linesPerFile = 4;

/** Reports where a name is defined and where it is used. */
export function* findSymbol({ symbol, path }: FindRequest): Job {
  const name = symbol.split(/::|\./).at(-1) || symbol;
  const options = { path, glob: foreignGlob, output_mode: "content" };
  const { defined, used } = yield* callTools(`Searching for ${symbol}`, {
    defined: grep(definitionPattern(name), { ...options, head_limit: 60 }),
    used: grep(usagePattern(symbol), { ...options, head_limit: 250 }),
  });
  const definitions = hitsIn(defined)
    .hits.filter((hit) => isDefinition(hit, name))
    .sort(testsLast);
  const usages = hitsIn(used);
  if (definitions.length === 0 && usages.hits.length === 0)
    return yield* findNear(symbol, { path, before: [defined, used] });
  const locations = new Set(definitions.map(locationOf));
  const others = usages.hits.filter((hit) => !locations.has(locationOf(hit)));
  const [around] = yield* callAll(
    "Reading the definition",
    definitions.slice(0, 1).map(({ path: file, line }) => ({
      name: "Read",
      input: { file_path: file, offset: Math.max(1, line - 8), limit: 16 },
    })),
  );
  const text = compose(
    `${symbol}: ${plural(definitions.length, "definition")}, ${plural(others.length + usages.left, "other line")}`,
    [definitionSection(definitions, name), aroundSection(definitions[0], around), usageSection(others, usages.left)],
  );
  return { kind: "report", text };
}

function definitionSection(definitions: readonly Hit[], name: string): Section {
  const lines = rows(definitions.map((hit) => [locationOf(hit), clip(hit.text)]));
  if (lines.length === 0) lines.push(`- no line that looks like a definition of ${name}`);
  return { heading: "Defined", lines: firstOf(lines, 10) };
}

/** Shows the comment above a definition and the first lines of the definition. */
function aroundSection(hit: Hit | undefined, result: CallResult | undefined): Section | undefined {
  if (!hit || !result?.ok) return undefined;
  const { lines } = parsePage(result.text);
  const at = lines.findIndex(({ number }) => number === hit.line);
  if (at < 0) return undefined;
  let from = at;
  while (from > 0 && /^\s*(\/\/|\/?\*|#|--|@|"""|;)/.test(lines[from - 1]?.text ?? "")) from -= 1;
  const shown = lines
    .slice(from, Math.min(at + 8, lines.length))
    .map(({ number, text }) => `${String(number).padStart(5)}  ${text.slice(0, 140)}`);
  return { heading: locationOf(hit), lines: ["```", ...shown, "```"] };
}

function usageSection(hits: readonly Hit[], left: number): Section {
  const byFile = new Map<string, Hit[]>();
  for (const hit of [...hits].sort(testsLast)) byFile.set(hit.path, [...(byFile.get(hit.path) ?? []), hit]);
  if (byFile.size === 0) return { heading: "Used", lines: ["- no other line contains the name"] };
  const groups = [...byFile.values()].slice(0, maxFiles);
  const shown = groups.flatMap((group) => group.slice(0, linesPerFile));
  const cells = rows(shown.map((hit) => [locationOf(hit), clip(hit.text, 90)]));
  const more = groups
    .filter((group) => group.length > linesPerFile)
    .map((group) => `${group[0]?.path} (${group.length})`);
  const lines = [...cells];
  if (more.length > 0) lines.push(`- files with more lines than shown: ${more.join(", ")}`);
  if (byFile.size > maxFiles)
    lines.push(
      `- and ${plural(byFile.size - maxFiles, "more file")}: ${clip([...byFile.keys()].slice(maxFiles).join(", "), 200)}`,
    );
  if (left > 0) lines.push(`- the search was truncated: ${plural(left, "more line")}`);
  return { heading: `Used in ${left > 0 ? "at least " : ""}${plural(byFile.size, "file")}`, lines };
}

/** Reports lines and files with a similar name. */
function* findNear(
  symbol: string,
  { path, before }: { readonly path: string; readonly before: readonly CallResult[] },
): Job {
  const { lines, files } = yield* callTools("Nothing has exactly this name: looking for similar names", {
    lines: grep(usagePattern(symbol).replaceAll("\\b", ""), {
      path,
      glob: foreignGlob,
      output_mode: "content",
      "-i": true,
      head_limit: 15,
    }),
    files: glob(`**/*${symbol.replace(/[^\w.-]/g, "?")}*`, path),
  });
  const { hits, left } = hitsIn(lines);
  const near = rows(hits.map((hit) => [locationOf(hit), clip(hit.text)]));
  if (left > 0) near.push(`- and ${plural(left, "more line")}`);
  const named = files.ok ? parsePaths(files.text).paths : [];
  const failed = [...before, lines].some(({ ok }) => !ok);
  const result = failed ? [] : [`- no line in ${path} contains ${symbol}`];
  const text = compose(`${symbol}: ${failed ? "could not be searched for" : "not found"}`, [
    { heading: "Result", lines: result },
    { heading: "Lines that contain it in a different case or as part of a word", lines: near },
    {
      heading: "Files with a similar name",
      lines: firstOf(
        named.map((name) => `- ${name}`),
        10,
      ),
    },
  ]);
  return { kind: failed ? "refusal" : "report", text };
}

function hitsIn(result: CallResult): ReturnType<typeof parseHits> {
  return result.ok ? parseHits(result.text) : { hits: [], left: 0 };
}

function locationOf({ path, line }: Hit): string {
  return `${path}:${line}`;
}

function testsLast(left: Hit, right: Hit): number {
  return Number(isTest(left.path)) - Number(isTest(right.path));
}
