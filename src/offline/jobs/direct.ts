import { plural } from "../../lib/index.ts";
import { foreignGlob } from "../map/survey-files.ts";
import type { ListRequest, ReadRequest, SearchRequest } from "../recognise/job-request.ts";
import { escapePattern, todoPattern } from "./definitions.ts";
import { ask, glob, grep, type Job, list, read } from "./job.ts";
import { clip, compose, firstOf, rows } from "./report.ts";
import { parseHits, parseListing, parsePage, parsePaths } from "./results.ts";

const maxLines = 200;

export function* browse({ path, pattern }: ListRequest): Job {
  if (pattern !== undefined) return yield* browseByPattern(pattern, path);
  const { listing } = yield* ask(`Listing ${path}.`, { listing: list(path) });
  if (!listing.ok) return { kind: "report", text: compose(`${path} could not be listed`, []) };
  const { directories, files, left } = parseListing(listing.text);
  const lines = [...directories.map((name) => `- ${name}/`), ...rows(files.map(({ name, size }) => [name, size]))];
  if (left > 0) lines.push(`- and ${left} more that the listing left out`);
  if (lines.length === 0) lines.push("- nothing: the directory is empty");
  const title = `${path}: ${plural(files.length, "file")} and ${directories.length === 1 ? "1 directory" : `${directories.length} directories`}`;
  return { kind: "report", text: compose(title, [{ heading: "Entries", lines: firstOf(lines, maxLines, "entry") }]) };
}

function* browseByPattern(pattern: string, path: string): Job {
  const { found } = yield* ask(`Looking for ${pattern}.`, { found: glob(pattern, path) });
  const { paths, left } = found.ok ? parsePaths(found.text) : { paths: [], left: 0 };
  const lines = paths.map((name) => `- ${name}`);
  if (left > 0) lines.push(`- and ${plural(left, "older file")} that the result left out`);
  return {
    kind: "report",
    text: compose(`${pattern}: ${plural(paths.length + left, "file")}`, [{ heading: "Files, newest first", lines }]),
  };
}

export function* readOne({ path }: ReadRequest): Job {
  const { page } = yield* ask(`Reading ${path}.`, { page: read(path) });
  if (!page.ok) return { kind: "report", text: compose(`${path} could not be read`, []) };
  const { lines, total } = parsePage(page.text);
  // Notebooks, pictures and empty files come without line numbers.
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
  const { found } = yield* ask(`Searching for ${text}.`, {
    found: grep(pattern, {
      path,
      glob: foreignGlob,
      output_mode: "content",
      head_limit: 100,
      ...(isTodo ? {} : { "-i": true }),
    }),
  });
  const { hits, left } = found.ok ? parseHits(found.text) : { hits: [], left: 0 };
  const files = new Set(hits.map((hit) => hit.path)).size;
  const lines = rows(hits.map((hit) => [`${hit.path}:${hit.line}`, clip(hit.text, 100)]));
  if (left > 0) lines.push(`- and ${plural(left, "more line")} that the search left out`);
  if (lines.length === 0 && found.ok) lines.push(`- no line below ${path} has it`);
  const title = `${isTodo ? "TODO and FIXME comments" : `"${text}"`}: ${plural(hits.length + left, "line")} in ${plural(files, "file")}${left > 0 ? " or more" : ""}`;
  return { kind: "report", text: compose(title, [{ heading: "Lines", lines: firstOf(lines, maxLines, "line") }]) };
}
