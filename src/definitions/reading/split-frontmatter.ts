export type SplitFrontmatter =
  | { readonly kind: "none" }
  /** `---js` and the like: other programs evaluate it. */
  | { readonly kind: "language"; readonly word: string; readonly line: number }
  | { readonly kind: "unclosed"; readonly line: number }
  | {
      readonly kind: "found";
      /** Without the marker lines and without indentation common to all of it; ends with a newline. */
      readonly source: string;
      /** Of the first line of `source`, from 1. */
      readonly line: number;
      /** Where the body starts in the text. */
      readonly bodyStart: number;
    };

/** Cuts a Markdown text with `\n` line ends into frontmatter and body. Blank lines and HTML comments may stand before it. */
export function splitFrontmatter(text: string): SplitFrontmatter {
  const opening = findOpening(text);
  if (opening === undefined) return { kind: "none" };
  if (opening.word !== "") return { kind: "language", word: opening.word, line: opening.line };
  const closing = findClosing(text, opening);
  if (closing === undefined) return { kind: "unclosed", line: opening.line };
  const source = text.slice(opening.end, closing.start);
  const bodyStart = skipBlankLines(text, closing.bodyStart);
  return { kind: "found", source: dedent(source), line: opening.line + 1, bodyStart };
}

interface Opening {
  readonly indent: number;
  readonly word: string;
  readonly line: number;
  /** Start of the next line. */
  readonly end: number;
}

function findOpening(text: string): Opening | undefined {
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
  readonly bodyStart: number;
}

/** A whole line of dashes or `...`. Only where there is none, a line that begins with three dashes will do. */
function findClosing(text: string, opening: Opening): Closing | undefined {
  let glued: Closing | undefined;
  for (let position = opening.end; position < text.length; ) {
    const end = lineEnd(text, position);
    const code = text.charCodeAt(position);
    if (code === 0x2d || code === 0x2e || (opening.indent > 0 && (code === 0x20 || code === 0x09))) {
      const content = text.slice(position, end);
      if (/^[ \t]*(?:-{3,}|\.{3})[ \t]*$/.test(content) && indentOf(content) <= opening.indent)
        return { start: position, bodyStart: end + 1 };
      if (glued === undefined && /^---[^-\s]/.test(content)) glued = { start: position, bodyStart: position + 3 };
    }
    position = end + 1;
  }
  return glued;
}

function skipBlankLines(text: string, start: number): number {
  let position = Math.min(start, text.length);
  for (;;) {
    const end = lineEnd(text, position);
    if (position >= text.length || text.slice(position, end).trim() !== "") return position;
    position = Math.min(end + 1, text.length);
  }
}

/** Takes off what the first line with content is indented by, where all others are at least as far in. */
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
