import type { Diagnostic } from "../../protocol/index.ts";
import { decodeText, detectEncoding, type EncodedText } from "./decode-text.ts";
import type { Field } from "./field.ts";
import { bodyOf, type SplitFrontmatter, splitFrontmatter } from "./split-frontmatter.ts";
import { loadYamlReader } from "./strict-yaml.ts";
import { readTolerantYaml } from "./tolerant-yaml.ts";

export interface ReadFrontmatter {
  /** Undefined: the file can't be loaded; the diagnostics say why. */
  readonly fields?: readonly Field[];
  readonly diagnostics: Diagnostic[];
  /** What comes after the frontmatter. Decoded when asked for. */
  readonly body: () => string;
}

export interface FrontmatterRequest {
  readonly bytes: Uint8Array;
  readonly file: string;
  readonly isKnown: (key: string) => boolean;
}

/** What stays in memory of a definition is its file, so this is the most a file may have. */
export const maxFileBytes = 256 * 1024;
const maxFrontmatter = 64 * 1024;
const firstGlance = 512;

/** Reads the frontmatter of a file. Never rejects, whatever the bytes. */
export async function readFrontmatter(request: FrontmatterRequest): Promise<ReadFrontmatter> {
  const { bytes, file } = request;
  if (bytes.length > maxFileBytes) return refused({ severity: "error", file, ...fileTooLarge });
  const encoded = detectEncoding(bytes);
  const diagnostics: Diagnostic[] = [];
  if (encoded.encoding === "windows-1252") diagnostics.push({ severity: "notice", file, ...notUtf8 });
  const found = splitAtGlance(bytes, encoded);
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

/** Decodes no more than needed: bodies are long, and most are never asked for. */
function splitAtGlance(bytes: Uint8Array, encoded: EncodedText): SplitFrontmatter {
  for (let limit = firstGlance; limit < bytes.length; limit *= 8) {
    const text = decodeText(bytes, encoded, limit);
    const found = splitFrontmatter(text);
    // Where the cut may have gone through the closing line, or a better one may come, only more of the text tells.
    if (found.kind === "found" && found.end < text.length && !found.isGlued) return found;
  }
  return splitFrontmatter(decodeText(bytes, encoded));
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
