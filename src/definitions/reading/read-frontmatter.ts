import { isUtf8 } from "node:buffer";
import type { Diagnostic } from "../../protocol/index.ts";
import type { Field } from "./field-reader.ts";
import { bodyOf, type SplitFrontmatter, splitFrontmatter } from "./split-frontmatter.ts";
import { loadYamlReader } from "./strict-yaml.ts";
import { readTolerantYaml } from "./tolerant-yaml.ts";

export interface ReadFrontmatter {
  /** Undefined if the file can't be loaded; the diagnostics say why. */
  readonly fields?: readonly Field[];
  readonly diagnostics: Diagnostic[];
  /** Returns the text after the frontmatter, decoded on each call. */
  readonly body: () => string;
}

export interface FrontmatterRequest {
  readonly bytes: Uint8Array;
  readonly file: string;
  readonly isKnown: (key: string) => boolean;
}

/** Limits the memory for definitions, because the bytes of each file are kept. */
export const maxFileBytes = 256 * 1024;
const maxFrontmatter = 64 * 1024;
const firstPrefix = 512;

/** Reads the frontmatter of a file. Never rejects, whatever the bytes. */
export async function readFrontmatter(request: FrontmatterRequest): Promise<ReadFrontmatter> {
  const { bytes, file } = request;
  if (bytes.length > maxFileBytes) return refused({ severity: "error", file, ...fileTooLarge });
  const encoded = detectEncoding(bytes);
  const diagnostics: Diagnostic[] = [];
  if (encoded.encoding === "windows-1252") diagnostics.push({ severity: "notice", file, ...notUtf8 });
  const found = splitPrefix(bytes, encoded);
  if (found.kind !== "found") return refused({ severity: "error", file, ...describeMissing(found) }, diagnostics);
  if (found.source.length > maxFrontmatter)
    return refused({ severity: "error", file, ...frontmatterTooLarge(found.source.length) }, diagnostics);
  const read = await readSource(found, request);
  diagnostics.push(...read.diagnostics);
  if (read.fields === undefined) return { diagnostics, body: () => "" };
  return { fields: read.fields, diagnostics, body: () => bodyOf(decodeText(bytes, encoded)) };
}

function refused(problem: Diagnostic, diagnostics: Diagnostic[] = []): ReadFrontmatter {
  diagnostics.push(problem);
  return { diagnostics, body: () => "" };
}

interface ReadSource {
  readonly fields?: readonly Field[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Parses the frontmatter as YAML, or line by line if it is not valid YAML. */
async function readSource(
  { source, line: firstLine }: FoundFrontmatter,
  { file, isKnown }: FrontmatterRequest,
): Promise<ReadSource> {
  const readYaml = await loadYamlReader();
  const strict = readYaml(source, firstLine);
  if (strict.kind === "fields") return { fields: strict.fields, diagnostics: [] };
  const { line, message } = strict;
  if (strict.kind === "hostile")
    return { diagnostics: [{ severity: "error", file, line, code: "yaml_refused", message }] };
  const problem = { file, line, code: "yaml_error", message, fix: yamlFix } as const;
  const fields = readTolerantYaml(source, { firstLine, isKnown, readYaml });
  if (!fields.some((field) => isKnown(field.key))) return { diagnostics: [{ severity: "error", ...problem }] };
  const warning: Diagnostic = { severity: "warning", ...problem, message: `${message} Read line by line instead.` };
  return { fields, diagnostics: [warning] };
}

type FoundFrontmatter = Extract<SplitFrontmatter, { kind: "found" }>;

/** Decodes only as much as needed, because bodies are long and most are never used. */
function splitPrefix(bytes: Uint8Array, encoded: EncodedText): SplitFrontmatter {
  for (let limit = firstPrefix; limit < bytes.length; limit *= 8) {
    const text = decodeText(bytes, encoded, limit);
    const found = splitFrontmatter(text);
    // Read on if the prefix may end within the closing line, or if a better closing line may follow.
    if (found.kind === "found" && found.end < text.length && !found.isGlued) return found;
  }
  return splitFrontmatter(decodeText(bytes, encoded));
}

type TextEncoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

interface EncodedText {
  readonly encoding: TextEncoding;
  /** Length of the byte order mark in bytes. */
  readonly offset: number;
}

/** Falls back to Windows-1252, in which every sequence of bytes is valid. */
function detectEncoding(bytes: Uint8Array): EncodedText {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { encoding: "utf-16le", offset: 2 };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: "utf-16be", offset: 2 };
  if (bytes[0] === 0x2d && bytes[1] === 0 && bytes[2] === 0x2d) return { encoding: "utf-16le", offset: 0 };
  if (bytes[0] === 0 && bytes[1] === 0x2d && bytes[2] === 0) return { encoding: "utf-16be", offset: 0 };
  const offset = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  if (!isUtf8(bytes)) return { encoding: "windows-1252", offset };
  return { encoding: "utf-8", offset };
}

/** Returns the text with `\n` line ends. `limit`: the approximate number of bytes to decode. */
function decodeText(bytes: Uint8Array, { encoding, offset }: EncodedText, limit = bytes.length): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = offset + limit;
  const text =
    encoding === "utf-8"
      ? buffer.toString("utf8", offset, end)
      : new TextDecoder(encoding).decode(buffer.subarray(offset, end));
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}

const yamlFix = 'Put the value in double quotes, or write it below the key after "|".';
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
      message: `The frontmatter begins with "---${found.word.slice(0, 40)}". Only YAML is read, and nothing is ever run.`,
      fix: 'Write the first line as "---".',
    };
  if (found.kind === "unclosed")
    return {
      line: found.line,
      code: "unclosed_frontmatter",
      message: "The frontmatter has no closing line.",
      fix: 'Put a line "---" after the last field.',
    };
  return {
    line: 1,
    code: "no_frontmatter",
    message: "The file does not begin with frontmatter, so it defines nothing.",
    fix: 'Begin the file with "---", the lines "name: ..." and "description: ...", and "---".',
  };
}

const fileTooLarge = {
  line: 1,
  code: "file_too_large",
  message: `The file has more than ${maxFileBytes / 1024} KB, the most a definition may have. It is not loaded.`,
  fix: "Move long material into files of its own, which are read when they are needed.",
} as const;

function frontmatterTooLarge(size: number): Omit<Diagnostic, "severity" | "file"> {
  return {
    line: 1,
    code: "frontmatter_too_large",
    message: `The frontmatter has ${size} characters; at most ${maxFrontmatter} are read.`,
    fix: "Move the text into the body, below the closing line.",
  };
}
