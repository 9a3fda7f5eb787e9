import { lexer, type Token, type Tokens } from "marked";
import { type Row, type Span, type Style, span } from "../screen/row.ts";
import { cleanLine, cleanLines, pad, widthOf, wrap } from "../screen/text.ts";
import { highlight } from "./highlight.ts";

/** Returns the rows of a Markdown text, without blank rows at its ends. Lines of code may be longer than a row. */
export function markdownRows(markdown: string, columns: number): readonly Row[] {
  return blockRows(lexer(cleanLines(markdown).join("\n")), columns);
}

/** Returns rows of code. The lines are left whole, so that they can be copied. */
export function codeRows(code: string, language: string): readonly Row[] {
  return highlight(code, language.toLowerCase()).map((row) => [span("  "), ...row]);
}

function blockRows(tokens: readonly Token[], columns: number, isTight = false): readonly Row[] {
  const rows: Row[] = [];
  let isFirst = true;
  for (const token of tokens) {
    const block = rowsOf(token, columns);
    if (block.length === 0) continue;
    if (!isFirst && !isTight) rows.push([]);
    rows.push(...block);
    isFirst = false;
  }
  return rows;
}

function rowsOf(token: Token, columns: number): readonly Row[] {
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading":
      return wrap(
        inline((token as Tokens.Heading).tokens, "bold").map((each) => ({ ...each, style: "bold" as const })),
        { columns },
      );
    case "code": {
      const { text, lang = "" } = token as Tokens.Code;
      if (text === "") return [];
      return codeRows(text, lang.split(/[\s{]/)[0] ?? "");
    }
    case "blockquote": {
      const inner = blockRows((token as Tokens.Blockquote).tokens, columns - 2);
      return inner.map((row) => [span("│ ", "dim"), ...row]);
    }
    case "list":
      return listRows(token as Tokens.List, columns);
    case "table":
      return tableRows(token as Tokens.Table, columns);
    case "hr":
      return [[span("─".repeat(Math.min(columns, 24)), "dim")]];
    case "html":
      return cleanLines(token.raw.trimEnd()).flatMap((line) => wrap([span(line, "dim")], { columns }));
    default: {
      const { tokens, raw } = token as Tokens.Paragraph;
      return linesOf(tokens === undefined ? [span(raw)] : inline(tokens)).flatMap((line) => wrap(line, { columns }));
    }
  }
}

function listRows({ items, ordered, start, loose }: Tokens.List, columns: number): readonly Row[] {
  const first = Number(start) || 1;
  const marks = items.map((item, index) => {
    if (item.task) return item.checked ? "☑ " : "☐ ";
    return ordered ? `${first + index}. ` : "• ";
  });
  const width = Math.max(...marks.map(widthOf));
  return items.flatMap((item, index) => {
    const mark = `${" ".repeat(width - widthOf(marks[index] ?? ""))}${marks[index]}`;
    const inner = blockRows(item.tokens, columns - width, !loose);
    const rows = inner.length === 0 ? [[]] : inner;
    const shown = rows.map((row, line) => [line === 0 ? span(mark, "dim") : span(" ".repeat(width)), ...row]);
    return loose && index > 0 ? [[], ...shown] : shown;
  });
}

/** Shows a table with its columns aligned. A table that is too wide is shown as one list of values for each row. */
function tableRows({ header, rows }: Tokens.Table, columns: number): readonly Row[] {
  const text = ({ tokens }: Tokens.TableCell): string =>
    inline(tokens)
      .map((each) => each.text)
      .join("");
  const all = [header, ...rows].map((cells) => cells.map(text));
  const widths = header.map((_, index) => Math.max(...all.map((cells) => widthOf(cells[index] ?? ""))));
  const total = widths.reduce((sum, width) => sum + width + 3, -3);
  const names = all[0] ?? [];
  if (total > columns) {
    return all
      .slice(1)
      .flatMap((cells, index) => [
        ...(index > 0 ? [[]] : []),
        ...cells.flatMap((cell, each) =>
          wrap([span(cell)], { columns, first: [span(`${names[each] ?? ""}: `, "dim")], others: [span("  ")] }),
        ),
      ]);
  }
  const line = (cells: readonly string[], style?: Style): Row =>
    cells.flatMap((cell, index) => [
      ...(index > 0 ? [span(" │ ", "dim")] : []),
      span(index === cells.length - 1 ? cell : pad(cell, widths[index] ?? 0), style),
    ]);
  const rule = span(widths.map((width) => "─".repeat(width)).join("─┼─"), "dim");
  return [line(names, "bold"), [rule], ...all.slice(1).map((cells) => line(cells))];
}

const inlineStyles: Readonly<Record<string, Style>> = {
  strong: "bold",
  em: "italic",
  del: "strike",
  codespan: "code",
  link: "underline",
};

/** Returns the spans of inline elements. Line breaks are spans of their own. */
function inline(tokens: readonly Token[], style?: Style): readonly Span[] {
  return tokens.flatMap((token): readonly Span[] => {
    const own = inlineStyles[token.type] ?? style;
    const { tokens: inner, text } = token as Tokens.Text;
    switch (token.type) {
      case "br":
        return [span("\n")];
      case "image":
        return [span(`[image: ${cleanLine(text || (token as Tokens.Image).href)}]`, "dim")];
      case "link": {
        const { href } = token as Tokens.Link;
        const isShown = cleanLine(text) === href || href === "";
        return [...inline(inner ?? [], own), ...(isShown ? [] : [span(` (${cleanLine(href)})`, "dim")])];
      }
      case "codespan":
        return [span(unescaped(text), own)];
      case "html":
        return [span(token.raw, style)];
      default:
        return inner !== undefined ? inline(inner, own) : pieces(unescaped(text ?? token.raw), own);
    }
  });
}

/** Splits text at its line breaks, which are kept: models use them to separate lines. */
function pieces(text: string, style: Style | undefined): readonly Span[] {
  return text.split(/(\n)/).flatMap((each) => (each === "" ? [] : [span(each, each === "\n" ? undefined : style)]));
}

function linesOf(spans: readonly Span[]): readonly Row[] {
  const lines: Span[][] = [[]];
  for (const each of spans) {
    if (each.text === "\n") lines.push([]);
    else lines.at(-1)?.push(each);
  }
  return lines;
}

/** The lexer escapes some characters for HTML. */
function unescaped(text: string): string {
  return text.replace(/&(lt|gt|amp|quot|#39);/g, (_, name: string) => characters[name] ?? "");
}

const characters: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'" };
