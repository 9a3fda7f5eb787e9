import type { HLJSApi } from "highlight.js";
import type { Row, Span, Style } from "../screen/row.ts";
import { cleanLines } from "../screen/text.ts";

let highlighter: HLJSApi | undefined;

/** Loads the highlighter. Until it is loaded, code is shown in one color. */
export async function loadHighlighter(): Promise<void> {
  const { default: core } = await import("highlight.js/lib/core");
  const { languages } = await import("./languages.ts");
  for (const [name, language] of Object.entries(languages)) core.registerLanguage(name, language);
  highlighter = core;
}

/** Maximum length of highlighted text. Highlighting longer text would take too long. */
const MAX_CHARACTERS = 50_000;

/** Returns the lines of code, with styles if the language is known. */
export function highlight(code: string, language: string): readonly Row[] {
  const lines = cleanLines(code);
  if (highlighter?.getLanguage(language) === undefined || code.length > MAX_CHARACTERS)
    return lines.map((text) => [{ text }]);
  const { value } = highlighter.highlight(lines.join("\n"), { language, ignoreIllegals: true });
  return rowsOf(value);
}

const styles: Readonly<Record<string, Style>> = {
  keyword: "keyword",
  literal: "number",
  number: "number",
  string: "string",
  regexp: "string",
  comment: "comment",
  doctag: "comment",
  meta: "dim",
  type: "type",
  class: "type",
  built_in: "type",
  title: "accent",
  attr: "accent",
  attribute: "accent",
  name: "accent",
  tag: "accent",
  section: "title",
  addition: "added",
  deletion: "removed",
};

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', "#x27": "'" };

/** Converts the highlighter's HTML, which consists of nested `span` elements and five entities. */
function rowsOf(html: string): readonly Row[] {
  const rows: Span[][] = [[]];
  const open: (Style | undefined)[] = [];
  for (const [part, opened] of html.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
    if (opened !== undefined) open.push(styles[/hljs-(\w+)/.exec(opened)?.[1] ?? ""] ?? open.at(-1));
    else if (part === "</span>") open.pop();
    else {
      const text = part.replace(/&([^;]{1,10});/g, (given, name: string) => entities[name] ?? given);
      for (const [index, line] of text.split("\n").entries()) {
        if (index > 0) rows.push([]);
        if (line !== "") rows.at(-1)?.push({ text: line, style: open.at(-1) });
      }
    }
  }
  return rows;
}
