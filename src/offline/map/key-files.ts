import { plural } from "../../lib/index.ts";
import { anyDefinitionPattern } from "../jobs/definitions.ts";
import { clip } from "../jobs/report.ts";
import { type FileCount, type Page, parsePage } from "../jobs/results.ts";
import { baseName, isTest, languageOf } from "./languages.ts";
import { leadingComment } from "./leading-comment.ts";
import { joinPath } from "./survey-files.ts";

/** What to open first in a directory: what speaks for it, what starts something, then the biggest. */
export function keyFiles(
  files: readonly FileCount[],
  { path, most }: { readonly path: string; readonly most: number },
) {
  return files
    .flatMap((file) => {
      const rank = rankOf(file.path, path);
      return rank === undefined ? [] : [{ ...file, rank }];
    })
    .sort((left, right) => left.rank - right.rank || right.count - left.count || (left.path < right.path ? -1 : 1))
    .slice(0, most);
}

const ranks = { entry: 0, start: 1, code: 2, test: 3, prose: 3, other: 4 } as const;

/** Undefined: not worth opening. An entry point further down speaks for its own directory only. */
function rankOf(file: string, directory: string): number | undefined {
  const name = baseName(file);
  const language = languageOf(file);
  if (language === undefined || /[.-]min\.|\.lock$|-lock\.|\.snap$/.test(name)) return undefined;
  if (isTest(file)) return ranks.test;
  if (!language.isCode) return /^(Markdown|reStructuredText)$/.test(language.name) ? ranks.prose : ranks.other;
  if (isEntryPoint(file)) return file === joinPath(directory, name) ? ranks.entry : undefined;
  return /^(main|cli|app|server|__main__)\./.test(name) ? ranks.start : ranks.code;
}

export function isEntryPoint(path: string): boolean {
  return /^(index|mod|lib|__init__)\.\w+$/.test(baseName(path));
}

/** One line about a file, with its place: what it says of itself, else what it tests or defines, else its size. */
export function aboutFile({ path, count }: FileCount, text: string): readonly [string, string] {
  const page = parsePage(text);
  const words = /\.(md|markdown|mdx|rst)$/i.test(path) ? heading(page) : leadingComment(page);
  if (words[0] !== undefined)
    return [`${path}:${words[0].number}`, clip(words.map((line) => line.text).join(" "), 100)];
  const tested = isTest(path) ? titles(page) : [];
  const lines = tested.length > 0 ? tested : names(page);
  if (lines[0] === undefined) return [path, count === 0 ? "" : plural(count, "line")];
  const found = [...new Set(lines.map((line) => line.text))];
  const told = tested.length > 0 ? `tests ${found.join("; ")}` : `defines ${found.join(", ")}`;
  return [`${path}:${lines[0].number}`, clip(told, 100)];
}

function names({ lines }: Page): Page["lines"] {
  return lines.flatMap((line) => {
    const name = definition.test(line.text) ? nameForm.exec(line.text)?.[1] : undefined;
    return name === undefined ? [] : [{ number: line.number, text: name }];
  });
}

/** The titles of tests, or the names of functions that are some. */
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

function heading({ lines }: Page): Page["lines"] {
  const first = lines.find(({ text }) => /^#+\s+\S/.test(text)) ?? lines.find(({ text }) => /\w/.test(text));
  return first === undefined ? [] : [{ ...first, text: first.text.replace(/^#+\s+/, "") }];
}
