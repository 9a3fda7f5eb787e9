import type { Diagnostic } from "../../protocol/index.ts";
import { decodeText, detectEncoding } from "./decode-text.ts";
import type { Field } from "./field.ts";
import { readSimpleYaml } from "./simple-yaml.ts";
import { type SplitFrontmatter, splitFrontmatter } from "./split-frontmatter.ts";
import { loadYamlReader } from "./strict-yaml.ts";
import { readCarelessYaml, readTolerantYaml } from "./tolerant-yaml.ts";

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

const maxFileBytes = 1024 * 1024;
const maxFrontmatter = 64 * 1024;
const glance = 256;

/** Never throws, whatever the bytes. */
export async function readFrontmatter({ bytes, file, isKnown }: FrontmatterRequest): Promise<ReadFrontmatter> {
  const diagnostics: Diagnostic[] = [];
  const refuse = (problem: Omit<Diagnostic, "severity" | "file">): ReadFrontmatter => {
    diagnostics.push({ severity: "error", file, ...problem });
    return { diagnostics, body: () => "" };
  };
  if (bytes.length > maxFileBytes) return refuse(fileTooLarge(bytes.length));
  const encoded = detectEncoding(bytes);
  const found = splitAtGlance(bytes, (limit) => decodeText(bytes, encoded, limit));
  if (encoded.encoding === "windows-1252")
    diagnostics.push({ severity: "notice", file, line: 1, code: "not_utf8", ...notUtf8 });
  if (found.kind !== "found") return refuse(describeMissing(found));
  if (found.source.length > maxFrontmatter) return refuse(frontmatterTooLarge(found.source.length));

  const body = () => {
    const text = decodeText(bytes, encoded);
    const whole = splitFrontmatter(text);
    return whole.kind === "found" ? text.slice(whole.bodyStart) : "";
  };
  const simple = readSimpleYaml(found.source, found.line);
  if (simple !== undefined) return { fields: simple, diagnostics, body };

  const careless = readCarelessYaml(found.source, { firstLine: found.line, isKnown });
  if (careless?.fields.some((field) => isKnown(field.key))) {
    diagnostics.push({ severity: "warning", file, line: careless.line, ...unquotedColon });
    return { fields: careless.fields, diagnostics, body };
  }

  const readYaml = await loadYamlReader();
  const strict = readYaml(found.source, found.line);
  if (strict.kind === "fields") return { fields: strict.fields, diagnostics, body };
  if (strict.kind === "hostile") return refuse({ line: strict.line, code: "yaml_refused", message: strict.message });
  const fields = readTolerantYaml(found.source, { firstLine: found.line, isKnown, readYaml });
  if (!fields.some((field) => isKnown(field.key)))
    return refuse({ line: strict.line, code: "yaml_error", message: strict.message, fix: yamlFix });
  diagnostics.push({
    severity: "warning",
    file,
    line: strict.line,
    code: "yaml_error",
    message: `${strict.message} Read line by line instead.`,
    fix: yamlFix,
  });
  return { fields, diagnostics, body };
}

/** Decodes no more than needed: bodies are long, and most are never asked for. */
function splitAtGlance(bytes: Uint8Array, decode: (limit: number) => string): SplitFrontmatter {
  const marker = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf("\n---", 3);
  const limit = marker + glance;
  if (marker !== -1 && limit < bytes.length) {
    const text = decode(limit);
    const found = splitFrontmatter(text);
    // Where the cut may have gone through a marker, only the whole text tells.
    if (found.kind === "found" && text.lastIndexOf("\n") >= found.bodyStart) return found;
  }
  return splitFrontmatter(decode(bytes.length));
}

const yamlFix = 'Put the value in double quotes, or write it below the key after "|".';
const unquotedColon = {
  code: "yaml_error",
  message: 'An unquoted value contains ": ", which YAML does not allow. The line was taken as it stands.',
  fix: yamlFix,
} as const;
const notUtf8 = {
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

function fileTooLarge(size: number): Omit<Diagnostic, "severity" | "file"> {
  return {
    line: 1,
    code: "file_too_large",
    message: `The file has ${size} bytes; at most ${maxFileBytes} are read.`,
    fix: "Move long material into files the agent can read when it needs them.",
  };
}

function frontmatterTooLarge(size: number): Omit<Diagnostic, "severity" | "file"> {
  return {
    line: 1,
    code: "frontmatter_too_large",
    message: `The frontmatter has ${size} characters; at most ${maxFrontmatter} are read.`,
    fix: "Move the text into the body, below the closing line.",
  };
}
