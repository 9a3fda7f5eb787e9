export type SplitFrontmatter =
  | { readonly kind: "none" }
  /** `---js` and similar, which other programs evaluate. */
  | { readonly kind: "language"; readonly word: string; readonly line: number }
  | { readonly kind: "unclosed"; readonly line: number }
  | {
      readonly kind: "found";
      /** Without the marker lines and common indentation; ends with a newline. */
      readonly source: string;
      /** Line number of the first line of `source`, starting at 1. */
      readonly line: number;
      /** Offset of the end of the closing line. */
      readonly end: number;
      /** Closed by dashes followed by text, because there is no better closing line. */
      readonly isGlued: boolean;
    };

/** Splits Markdown with `\n` line ends into frontmatter and body. Blank lines and HTML comments may precede it. */
export function splitFrontmatter(text: string): SplitFrontmatter {
  const opening = findOpening(text);
  if (opening === undefined) return { kind: "none" };
  if (opening.word !== "") return { kind: "language", word: opening.word, line: opening.line };
  const closing = findClosing(text, opening);
  if (closing === undefined) return { kind: "unclosed", line: opening.line };
  const source = dedent(text.slice(opening.end, closing.start));
  return { kind: "found", source, line: opening.line + 1, end: closing.end, isGlued: closing.isGlued };
}

/** Returns the text after the frontmatter and the blank lines below it. */
export function bodyOf(text: string): string {
  const found = splitFrontmatter(text);
  return found.kind === "found" ? text.slice(skipBlankLines(text, found.end)) : "";
}

interface Opening {
  readonly indent: number;
  readonly word: string;
  readonly line: number;
  /** Offset of the next line. */
  readonly end: number;
}

const usualOpening: Opening = { indent: 0, word: "", line: 1, end: 4 };

function findOpening(text: string): Opening | undefined {
  if (text.startsWith("---\n")) return usualOpening;
  let position = text.startsWith("\ufeff") ? 1 : 0;
  let line = 1;
  while (position < text.length) {
    const end = lineEnd(text, position);
    const content = text.slice(position, end);
    const trimmed = content.trim();
    if (trimmed.startsWith("<!--")) {
      const commentEnd = text.indexOf("-->", position);
      if (commentEnd === -1) return undefined;
      line += countNewlines(text.slice(position, commentEnd));
      position = commentEnd + 3;
      continue;
    }
    if (trimmed !== "") {
      const match = /^([ \t]*)-{3,}[ \t]*([^-\s].*?)?[ \t]*$/.exec(content);
      if (match === null) return undefined;
      const word = match[2]?.startsWith("#") ? "" : (match[2] ?? "");
      return { indent: match[1]?.length ?? 0, word, line, end: end + 1 };
    }
    position = end + 1;
    line += 1;
  }
  return undefined;
}

interface Closing {
  readonly start: number;
  readonly end: number;
  readonly isGlued: boolean;
}

/**
 * Finds a whole line of dashes or `...`. If there is none, or only one so far below that it is a horizontal rule of the
 * body, accepts a line that begins with three dashes.
 */
function findClosing(text: string, opening: Opening): Closing | undefined {
  const closing = findClosingLine(text, opening);
  if (closing !== undefined && closing.start - opening.end <= farBelow) return closing;
  gluedLine.lastIndex = opening.end - 1;
  const glued = gluedLine.exec(text);
  if (glued === null || (closing !== undefined && closing.start - glued.index <= farBelow)) return closing;
  return { start: glued.index + 1, end: glued.index + 4, isGlued: true };
}

function findClosingLine(text: string, opening: Opening): Closing | undefined {
  const pattern = closingLine[opening.indent === 0 ? "atEdge" : "indented"];
  pattern.lastIndex = opening.end - 1;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if ((match[1] ?? "").length <= opening.indent)
      return { start: match.index + 1, end: pattern.lastIndex, isGlued: false };
    pattern.lastIndex = match.index + 1;
  }
  return undefined;
}

const farBelow = 256;
const closingLine = {
  atEdge: /\n(?:-{3,}|\.{3})[ \t]*(?:\n|$)/g,
  indented: /\n([ \t]*)(?:-{3,}|\.{3})[ \t]*(?:\n|$)/g,
};
const gluedLine = /\n---[^-\s]/g;

function skipBlankLines(text: string, start: number): number {
  let position = Math.min(start, text.length);
  for (;;) {
    const end = lineEnd(text, position);
    if (position >= text.length || text.slice(position, end).trim() !== "") return position;
    position = Math.min(end + 1, text.length);
  }
}

/** Removes the indentation of the first line with content from all lines. */
function dedent(source: string): string {
  const code = source.charCodeAt(0);
  if (code !== 0x20 && code !== 0x09 && code !== 0x0a) return source;
  const lines = source.split("\n");
  const filled = lines.filter((line) => line.trim() !== "");
  const indent = indentOf(filled[0] ?? "");
  if (indent === 0) return source;
  const shared = filled.every((line) => indentOf(line) >= indent);
  return lines.map((line) => (shared ? line.slice(indent) : line.slice(Math.min(indent, indentOf(line))))).join("\n");
}

function indentOf(line: string): number {
  let indent = 0;
  while (line.charCodeAt(indent) === 0x20 || line.charCodeAt(indent) === 0x09) indent += 1;
  return indent;
}

function lineEnd(text: string, position: number): number {
  const end = text.indexOf("\n", position);
  return end === -1 ? text.length : end;
}

function countNewlines(text: string): number {
  return text.split("\n").length - 1;
}
