import { isUtf8 } from "node:buffer";
import type { Diagnostic } from "../../protocol/index.ts";
import type { Field } from "./field-reader.ts";
import { readYamlFields } from "./read-yaml.ts";

export interface ReadFrontmatter {
  /** Fields of the frontmatter; undefined if the file can't be loaded, in which case the diagnostics say why. */
  readonly fields?: readonly Field[];
  readonly diagnostics: Diagnostic[];
  /** Returns the text after the frontmatter, decoded on each call. */
  readonly body: () => string;
}

export interface FrontmatterRequest {
  readonly bytes: Uint8Array;
  readonly file: string;
  readonly isKnown: (key: string) => boolean;
  /** If true, a file without frontmatter is valid and has no fields. */
  readonly optional?: boolean | undefined;
}

/** Maximum size of a file. Limits memory use, because the bytes of each definition file are kept. */
export const maxFileBytes = 256 * 1024;
const maxFrontmatter = 64 * 1024;

/** Reads the frontmatter of a file. The promise never rejects, whatever bytes the file contains. */
export async function readFrontmatter(request: FrontmatterRequest): Promise<ReadFrontmatter> {
  const { bytes, file, isKnown } = request;
  if (bytes.length > maxFileBytes) return refused({ severity: "error", file, ...fileTooLarge });
  const encoded = detectEncoding(bytes);
  const diagnostics: Diagnostic[] = [];
  if (encoded.encoding === "windows-1252") diagnostics.push({ severity: "notice", file, ...notUtf8 });
  const text = decodeText(bytes, encoded);
  const found = splitFrontmatter(text);
  if (found.kind === "none" && request.optional)
    return { fields: [], diagnostics, body: () => decodeText(bytes, encoded) };
  if (found.kind === "none" && startsWithField(text, isKnown))
    return refused({ severity: "error", file, ...unopened }, diagnostics);
  if (found.kind !== "found") return refused({ severity: "error", file, ...describeMissing(found) }, diagnostics);
  if (found.source.length > maxFrontmatter)
    return refused({ severity: "error", file, ...frontmatterTooLarge(found.source.length) }, diagnostics);
  const read = await readYamlFields({ source: found.source, firstLine: found.line, file, isKnown });
  diagnostics.push(...read.diagnostics);
  if (read.fields === undefined) return { diagnostics, body: () => "" };
  return { fields: read.fields, diagnostics, body: () => bodyOf(decodeText(bytes, encoded)) };
}

function refused(problem: Diagnostic, diagnostics: Diagnostic[] = []): ReadFrontmatter {
  diagnostics.push(problem);
  return { diagnostics, body: () => "" };
}

/**
 * Adjusts the diagnostics for a file in an agents directory, which need not be an agent: missing frontmatter is only a
 * warning, or a notice for a README.
 */
export function amongAgents(diagnostics: readonly Diagnostic[], file: string): readonly Diagnostic[] {
  const severity = /(^|[/\\])readme[^/\\]*$/i.test(file) ? "notice" : "warning";
  const message = "The file has no frontmatter, so it is not an agent.";
  return diagnostics.map((each) => (each.code === "no_frontmatter" ? { ...each, severity, message } : each));
}

type TextEncoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

interface EncodedText {
  readonly encoding: TextEncoding;
  /** Length of the byte order mark in bytes. */
  readonly offset: number;
}

/** Detects the encoding. Falls back to Windows-1252, in which every sequence of bytes is valid. */
function detectEncoding(bytes: Uint8Array): EncodedText {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { encoding: "utf-16le", offset: 2 };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: "utf-16be", offset: 2 };
  if (bytes[0] === 0x2d && bytes[1] === 0 && bytes[2] === 0x2d) return { encoding: "utf-16le", offset: 0 };
  if (bytes[0] === 0 && bytes[1] === 0x2d && bytes[2] === 0) return { encoding: "utf-16be", offset: 0 };
  const offset = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  if (!isUtf8(bytes)) return { encoding: "windows-1252", offset };
  return { encoding: "utf-8", offset };
}

/** Decodes the text and normalizes line ends to `\n`. */
function decodeText(bytes: Uint8Array, { encoding, offset }: EncodedText): string {
  return new TextDecoder(encoding).decode(bytes.subarray(offset)).replace(/\r\n?/g, "\n");
}

const notUtf8 = {
  line: 1,
  code: "not_utf8",
  message: "The file is not valid UTF-8; it was read as Windows-1252.",
  fix: "Save the file as UTF-8.",
} as const;

function describeMissing(found: Exclude<SplitFrontmatter, { kind: "found" }>): Omit<Diagnostic, "severity" | "file"> {
  if (found.kind === "language")
    return {
      line: found.line,
      code: "frontmatter_language",
      message: `The frontmatter begins with "---${found.language.slice(0, 40)}". Only YAML is supported; code in frontmatter is never run.`,
      fix: 'Write the first line as "---".',
    };
  if (found.kind === "unclosed")
    return {
      line: found.line,
      code: "unclosed_frontmatter",
      message: "The frontmatter has no closing line.",
      fix: 'Put a "---" line after the last field.',
    };
  return {
    line: 1,
    code: "no_frontmatter",
    message: "The file does not begin with frontmatter, so it defines nothing.",
    fix: 'Begin the file with "---", followed by the lines "name: ..." and "description: ..." and another "---".',
  };
}

/** Returns true if the first line with text is a field, as in a definition whose first "---" is missing. */
function startsWithField(text: string, isKnown: (key: string) => boolean): boolean {
  const key = /^\ufeff?\s*([a-z][\w-]*)[ \t]*:(?=\s)/.exec(text)?.[1];
  return key !== undefined && isKnown(key);
}

const unopened = {
  line: 1,
  code: "unopened_frontmatter",
  message: 'The "---" line before the first field is missing, so the file defines nothing.',
  fix: 'Begin the file with a "---" line, and put another one after the last field.',
} as const;

const fileTooLarge = {
  line: 1,
  code: "file_too_large",
  message: `The file is larger than ${maxFileBytes / 1024} KB, the limit for definitions. It is not loaded.`,
  fix: "Move long material into separate files, which are read when they are needed.",
} as const;

function frontmatterTooLarge(size: number): Omit<Diagnostic, "severity" | "file"> {
  return {
    line: 1,
    code: "frontmatter_too_large",
    message: `The frontmatter has ${size} characters; at most ${maxFrontmatter} are read.`,
    fix: "Move the text into the body, below the closing line.",
  };
}

type SplitFrontmatter =
  | { readonly kind: "none" }
  /** Frontmatter in another language, such as `---js`, which other programs evaluate. */
  | { readonly kind: "language"; readonly language: string; readonly line: number }
  | { readonly kind: "unclosed"; readonly line: number }
  | {
      readonly kind: "found";
      /** Text without the marker lines and common indentation; ends with a newline. */
      readonly source: string;
      /** Line number of the first line of `source`, starting at 1. */
      readonly line: number;
      /** Offset of the end of the closing line. */
      readonly end: number;
    };

/**
 * Splits Markdown with `\n` line ends into frontmatter and body. Blank lines and HTML comments may precede the
 * frontmatter.
 */
function splitFrontmatter(text: string): SplitFrontmatter {
  const opening = findOpening(text);
  if (opening === undefined) return { kind: "none" };
  if (opening.language !== "") return { kind: "language", language: opening.language, line: opening.line };
  const closing = findClosing(text, opening);
  if (closing === undefined) return { kind: "unclosed", line: opening.line };
  const source = dedent(text.slice(opening.end, closing.start));
  return { kind: "found", source, line: opening.line + 1, end: closing.end };
}

/** Returns the text after the frontmatter and the blank lines below it. */
function bodyOf(text: string): string {
  const found = splitFrontmatter(text);
  return found.kind === "found" ? text.slice(skipBlankLines(text, found.end)) : "";
}

interface Opening {
  readonly indent: number;
  readonly language: string;
  readonly line: number;
  /** Offset of the next line. */
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
      const language = match[2]?.startsWith("#") ? "" : (match[2] ?? "");
      return { indent: match[1]?.length ?? 0, language, line, end: end + 1 };
    }
    position = end + 1;
    line += 1;
  }
  return undefined;
}

interface Closing {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the end of the frontmatter: a whole line of dashes, or `...`. If there is none, or only one so far down that it
 * is a horizontal rule in the body, accepts a line that begins with three dashes.
 */
function findClosing(text: string, opening: Opening): Closing | undefined {
  const closing = findClosingLine(text, opening);
  if (closing !== undefined && closing.start - opening.end <= farBelow) return closing;
  gluedLine.lastIndex = opening.end - 1;
  const glued = gluedLine.exec(text);
  if (glued === null || (closing !== undefined && closing.start - glued.index <= farBelow)) return closing;
  return { start: glued.index + 1, end: glued.index + 4 };
}

function findClosingLine(text: string, opening: Opening): Closing | undefined {
  const pattern = closingLine[opening.indent === 0 ? "atEdge" : "indented"];
  pattern.lastIndex = opening.end - 1;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if ((match[1] ?? "").length <= opening.indent) return { start: match.index + 1, end: pattern.lastIndex };
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

/** Removes the indentation of the first non-blank line from all lines. */
function dedent(source: string): string {
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
