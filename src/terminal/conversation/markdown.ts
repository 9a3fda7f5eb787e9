import { lexer, type Token, type Tokens } from "marked";
import { type Row, type Span, type Style, span } from "../screen/row.ts";
import { cleanLine, cleanLines, rowFits, splitRow, widthOf, widthOfRow, wrap } from "../screen/text.ts";
import { highlight } from "./highlight.ts";

/** Returns the rows of a Markdown text, without blank rows at its ends. Code may be wider than text. */
export function markdownRows(markdown: string, columns: number, codeColumns = columns): readonly Row[] {
  const lines = cleanLines(markdown);
  try {
    return blockRows(lexer(lines.join("\n")), { columns, codeColumns });
  } catch {
    // Thousands of nested quotes or lists overflow the stack.
    return lines.flatMap((line) => wrap([span(line)], { columns }));
  }
}

export interface CodeOptions {
  readonly language: string;
  readonly columns: number;
  /** Lines of the same code block that precede the code, so that it is highlighted as their continuation. */
  readonly before?: readonly string[] | undefined;
}

/** Returns rows of code. Lines that are too long are wrapped, and the continuation is indented. */
export function codeRows(code: string, { language, columns, before = [] }: CodeOptions): readonly Row[] {
  const lines = highlight([...before, code].join("\n"), language.toLowerCase()).slice(before.length);
  return lines.flatMap((line) => {
    const rows: Row[] = [];
    let rest = line;
    let indent = "  ";
    while (columns > 12 && !rowFits(rest, columns - indent.length)) {
      const [start, end] = splitRow(rest, columns - indent.length);
      rows.push([span(indent), ...start]);
      rest = end;
      indent = "      ";
    }
    return [...rows, [span(indent), ...rest]];
  });
}

interface Widths {
  readonly columns: number;
  readonly codeColumns: number;
}

function narrower({ columns, codeColumns }: Widths, by: number): Widths {
  return { columns: columns - by, codeColumns: codeColumns - by };
}

function blockRows(tokens: readonly Token[], widths: Widths, isTight = false): readonly Row[] {
  const rows: Row[] = [];
  let isFirst = true;
  for (const token of tokens) {
    const block = rowsOf(token, widths);
    if (block.length === 0) continue;
    if (!isFirst && !isTight) rows.push([]);
    rows.push(...block);
    isFirst = false;
  }
  return rows;
}

function rowsOf(token: Token, widths: Widths): readonly Row[] {
  const { columns } = widths;
  switch (token.type) {
    case "space":
    case "def":
    case "checkbox":
      return [];
    case "heading":
      return wrap(
        inline((token as Tokens.Heading).tokens, "bold").map((each) => ({ ...each, style: "bold" as const })),
        { columns },
      );
    case "code": {
      const { text, lang = "" } = token as Tokens.Code;
      if (text === "") return [];
      return codeRows(text, { language: lang.split(/[\s{]/)[0] ?? "", columns: widths.codeColumns });
    }
    case "blockquote": {
      const inner = blockRows((token as Tokens.Blockquote).tokens, narrower(widths, 2));
      return inner.map((row) => [span("│ ", "dim"), ...row]);
    }
    case "list":
      return listRows(token as Tokens.List, widths);
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

function listRows({ items, ordered, start, loose }: Tokens.List, widths: Widths): readonly Row[] {
  const first = Number(start) || 1;
  const marks = items.map((item, index) => {
    if (item.task) return item.checked ? "☑ " : "☐ ";
    return ordered ? `${first + index}. ` : "• ";
  });
  const width = Math.max(...marks.map(widthOf));
  return items.flatMap((item, index) => {
    const mark = `${" ".repeat(width - widthOf(marks[index] ?? ""))}${marks[index]}`;
    const inner = blockRows(item.tokens, narrower(widths, width), !loose);
    const rows = inner.length === 0 ? [[]] : inner;
    const shown = rows.map((row, line) => [line === 0 ? span(mark, "dim") : span(" ".repeat(width)), ...row]);
    return loose && index > 0 ? [[], ...shown] : shown;
  });
}

/** Minimum width of a cell in columns. */
const MIN_CELL = 6;

/**
 * Shows a table with aligned columns and wrapped cells. If even narrow cells do not fit, each row is shown as a list of
 * values. The header alone decides this, so that the layout does not change while the table is being written.
 */
function tableRows({ header, rows, align }: Tokens.Table, columns: number): readonly Row[] {
  const text = ({ tokens }: Tokens.TableCell): string =>
    inline(tokens)
      .map((each) => each.text)
      .join("");
  const all = [header, ...rows].map((cells) => cells.map(text));
  const [names = [], ...values] = all;
  const room = columns - 3 * (header.length - 1);
  if (room < MIN_CELL * header.length) return recordRows(names, values, columns);
  const wanted = header.map((_, index) => Math.max(1, ...all.map((cells) => widthOf(cells[index] ?? ""))));
  const widths = fitted(wanted, room);
  const lines = (cells: readonly string[], style?: Style): readonly Row[] => {
    const wrapped = widths.map((width, index) => wrap([span(cells[index] ?? "", style)], { columns: width }));
    return Array.from({ length: Math.max(...wrapped.map(({ length }) => length)) }, (_, line) =>
      widths.flatMap((width, index) => [
        ...(index > 0 ? [span(" │ ", "dim")] : []),
        ...aligned(wrapped[index]?.[line] ?? [], width, align[index] ?? "left"),
      ]),
    );
  };
  const rule = span(widths.map((width) => "─".repeat(width)).join("─┼─"), "dim");
  return [...lines(names, "bold"), [rule], ...values.flatMap((cells) => lines(cells))];
}

function recordRows(names: readonly string[], values: readonly (readonly string[])[], columns: number): readonly Row[] {
  return values.flatMap((cells, index) => [
    ...(index > 0 ? [[]] : []),
    ...cells.flatMap((cell, each) =>
      wrap([span(`${names[each] ?? ""}: `, "dim"), span(cell)], { columns: Math.max(1, columns) }),
    ),
  ]);
}

/** Gives columns that need less than an equal share the width that they need. The others share the rest. */
function fitted(wanted: readonly number[], room: number): readonly number[] {
  if (wanted.reduce((sum, width) => sum + width, 0) <= room) return wanted;
  let left = room;
  let wide = [...wanted];
  for (;;) {
    const share = Math.floor(left / wide.length);
    const narrow = wide.filter((width) => width <= share);
    if (narrow.length === 0) return wanted.map((width) => Math.min(width, share));
    left -= narrow.reduce((sum, width) => sum + width, 0);
    wide = wide.filter((width) => width > share);
  }
}

function aligned(row: Row, width: number, align: "left" | "center" | "right"): Row {
  const free = Math.max(0, width - widthOfRow(row));
  const before = align === "right" ? free : align === "center" ? Math.floor(free / 2) : 0;
  return [span(" ".repeat(before)), ...row, span(" ".repeat(free - before))];
}

const inlineStyles: Readonly<Record<string, Style>> = {
  strong: "bold",
  em: "italic",
  del: "strike",
  codespan: "code",
  link: "underline",
};

/** Returns the spans of inline elements. Line breaks are separate spans. */
function inline(tokens: readonly Token[], style?: Style): readonly Span[] {
  return tokens.flatMap((token): readonly Span[] => {
    const own = inlineStyles[token.type] ?? style;
    const { tokens: inner, text } = token as Tokens.Text;
    switch (token.type) {
      case "checkbox":
        return [];
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

/** Splits text at its line breaks, which are kept because models use them to separate lines. */
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
