import { plural } from "../../lib/index.ts";
import { anyDefinitionPattern, todoPattern } from "./definitions.ts";
import { ask, grep, type Job, list, type Seen } from "./job.ts";
import { baseName, isTest, languageOf } from "./languages.ts";
import { leadingComment } from "./leading-comment.ts";
import { clip, compose, firstOf, rows } from "./report.ts";
import { type Page, parseHits, parseListing, parsePage } from "./results.ts";

const importPattern =
  "^\\s*(import|from|use|using|#include|require|include|extern crate|open|alias)\\b.*|^\\} from |= require\\(|^\\s*export .* from ";

/** Size, language, what it begins with, what it imports, what it defines. */
export function* summariseFile(path: string, page: Seen): Job {
  const directory = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : ".";
  const prose = /\.(md|markdown|mdx|rst|txt)$/i.test(path);
  const content = { path, output_mode: "content" };
  const { listing, defined, imported, todos } = yield* ask(`Looking for definitions in ${path}.`, {
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
  const kind = isTest(path) ? `${language}, a test by its name` : language;
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
    { heading: prose ? "Headings" : "Defines and exports", lines: firstOf(definitions, 30, "line") },
    { heading: "Imports", lines: prose ? [] : importLines(imported) },
    { heading: "TODO and FIXME", lines: hitLines(todos, path) },
    definitions.length + comment.length === 0 ? { heading: "First lines", lines: firstLines(parsed) } : undefined,
  ]);
  return { kind: "report", text };
}

function hitLines(seen: Seen, path: string): string[] {
  if (!seen.ok) return [];
  return rows(
    parseHits(seen.text).hits.map(({ line, text }) => [`${path}:${line}`, clip(text.replace(/\s*\{$/, ""), 110)]),
  );
}

/** The names of modules, as they stand in the lines. */
function importLines(seen: Seen): string[] {
  if (!seen.ok) return [];
  const { hits } = parseHits(seen.text);
  const names = hits.flatMap(({ text }) => {
    const quoted = /["'<]([^"'>]+)["'>]/.exec(text)?.[1];
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
  return keys.length === 0 ? [] : [`- keys at the top: ${clip([...new Set(keys)].join(", "), 300)}`];
}

function firstLines({ lines }: Page): string[] {
  return lines.slice(0, 8).map(({ number, text }) => `${String(number).padStart(5)}  ${text.slice(0, 140)}`);
}
