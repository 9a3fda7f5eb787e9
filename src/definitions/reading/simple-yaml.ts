import type { Field } from "./field.ts";
import { indentOf, isBlank, readInlineList, readQuoted, resolvePlain, trimSpaces } from "./simple-scalars.ts";

/**
 * Reads the part of YAML nearly all definitions are written in, many times as fast as a whole YAML reader: mappings of
 * plain and quoted scalars, lists of them, block scalars. Where it answers, the answer is YAML's; else undefined.
 */
export function readSimpleYaml(source: string, firstLine: number): Field[] | undefined {
  if (unusual.test(source)) return undefined;
  const lines = source.split("\n");
  const fields: Field[] = [];
  const end = readMapping({ lines, index: 0, indent: 0 }, (entry) => {
    const { key, value, text } = entry;
    fields.push({ key, value, line: firstLine + entry.index, ...(text === undefined ? {} : { text }) });
  });
  return end === lines.length && fields.length > 0 ? fields : undefined;
}

/** Tabs, control characters, byte order marks and the like: rare, and each with rules of its own. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const unusual = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\ufeff\ufffe\uffff]/;
const simpleKey = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const space = 0x20;
const dash = 0x2d;

interface Place {
  readonly lines: readonly string[];
  readonly index: number;
  /** Of the mapping the value belongs to. */
  readonly indent: number;
}

interface Entry {
  readonly key: string;
  readonly value: unknown;
  readonly text?: string | undefined;
  readonly index: number;
}

interface Read {
  readonly value: unknown;
  readonly text?: string;
  readonly next: number;
}

/** Gives every entry of the mapping to `take`; returns the line after it, or undefined where it gives up. */
function readMapping({ lines, index: start, indent }: Place, take: (entry: Entry) => void): number | undefined {
  const seen = new Set<string>();
  let index = start;
  while (index < lines.length) {
    const line = lines[index] as string;
    if (isBlank(line) || (indent === 0 && line.startsWith("#"))) {
      index += 1;
      continue;
    }
    const here = indentOf(line);
    if (here < indent) return index;
    if (here > indent || line.charCodeAt(here) === 0x23) return undefined;
    const colon = line.indexOf(":", here);
    const key = line.slice(here, colon);
    if (colon < 0 || !simpleKey.test(key) || reservedWord.test(key) || seen.has(key)) return undefined;
    if (colon + 1 < line.length && line.charCodeAt(colon + 1) !== space) return undefined;
    seen.add(key);
    const read = readValue({ lines, index, indent }, trimSpaces(line.slice(colon + 1)));
    if (read === undefined) return undefined;
    take({ key, value: read.value, text: read.text, index });
    index = read.next;
  }
  return index;
}

/** As keys they are no texts, or no ordinary ones. */
const reservedWord = /^(?:null|Null|NULL|true|True|TRUE|false|False|FALSE|__proto__)$/;

function readValue(place: Place, rest: string): Read | undefined {
  const first = rest.charAt(0);
  if (first === "") return readBelow(place);
  if (first === "|" || first === ">") return readBlockScalar(place, rest);
  if (first !== "[" && first !== '"' && first !== "'") return readPlainLines(place, rest);
  const value = first === "[" ? readInlineList(rest) : readQuoted(rest);
  return value !== undefined && standsAlone(place) ? { value, next: place.index + 1 } : undefined;
}

/** The next line with content is not further in, so the value does not go on. */
function standsAlone({ lines, index, indent }: Place): boolean {
  for (let next = index + 1; next < lines.length; next++) {
    const line = lines[next] as string;
    if (!isBlank(line)) return indentOf(line) <= indent;
  }
  return true;
}

function readPlainLines(place: Place, rest: string): Read | undefined {
  if (!isPlain(rest)) return undefined;
  const parts = [rest];
  let next = place.index + 1;
  for (; next < place.lines.length; next++) {
    const line = place.lines[next] as string;
    if (isBlank(line)) {
      if (!standsAlone({ ...place, index: next })) return undefined;
      break;
    }
    if (indentOf(line) <= place.indent) break;
    const part = trimSpaces(line);
    if (!isPlain(part)) return undefined;
    parts.push(part);
  }
  if (parts.length > 1) return { value: parts.join(" "), next };
  const resolved = resolvePlain(rest);
  return resolved === undefined ? undefined : { value: resolved.value, text: rest, next };
}

/** Only what can't be anything else than a plain scalar. */
function isPlain(text: string): boolean {
  return !indicators.includes(text.charAt(0)) && !text.includes(": ") && !text.includes(" #") && !text.endsWith(":");
}

const indicators = "-?:,[]{}#&*!|>'\"%@`";

/** Nothing after the colon: a list or a mapping below, or null. */
function readBelow({ lines, index, indent }: Place): Read | undefined {
  let first = index + 1;
  while (first < lines.length && isBlank(lines[first] as string)) first += 1;
  const line = lines[first] ?? "";
  const here = indentOf(line);
  if (line.charCodeAt(here) === dash && here >= indent) return readItems({ lines, index: first, indent: here });
  if (here <= indent) return { value: null, text: "", next: first };
  const mapping: [string, unknown][] = [];
  const next = readMapping({ lines, index: first, indent: here }, ({ key, value }) => mapping.push([key, value]));
  if (next === undefined || mapping.length === 0) return undefined;
  // A line between the two indentations belongs to neither.
  if (next < lines.length && indentOf(lines[next] as string) > indent) return undefined;
  return { value: Object.fromEntries(mapping), next };
}

function readItems({ lines, index, indent }: Place): Read | undefined {
  const items: unknown[] = [];
  let next = index;
  for (; next < lines.length; next++) {
    const line = lines[next] as string;
    if (isBlank(line)) continue;
    const here = indentOf(line);
    if (here < indent || (here === indent && line.charCodeAt(here) !== dash)) break;
    if (here > indent || line.charCodeAt(here + 1) !== space) return undefined;
    const item = readItem(trimSpaces(line.slice(here + 2)));
    if (item === undefined) return undefined;
    items.push(item.value);
  }
  // What follows further in than the key would have to be checked against the key's indentation: left to YAML.
  const after = lines[next];
  if (after !== undefined && indentOf(after) > 0 && indentOf(after) === indent) return undefined;
  return { value: items, next };
}

function readItem(text: string): { value: unknown } | undefined {
  if (text === "") return undefined;
  if (text.startsWith('"') || text.startsWith("'")) {
    const value = readQuoted(text);
    return value === undefined ? undefined : { value };
  }
  return isPlain(text) ? resolvePlain(text) : undefined;
}

function readBlockScalar({ lines, index, indent: outer }: Place, rest: string): Read | undefined {
  if (!/^[|>]-?$/.test(rest)) return undefined;
  let end = index + 1;
  while (end < lines.length && (isBlank(lines[end] as string) || indentOf(lines[end] as string) > outer)) end += 1;
  const indent = indentOf(lines.slice(index + 1, end).find((line) => !isBlank(line)) ?? "");
  if (indent <= outer) return undefined;
  const content: string[] = [];
  for (let line = index + 1; line < end; line++) {
    const text = lines[line] as string;
    if (isBlank(text)) {
      if (text.length > indent) return undefined;
      content.push("");
      continue;
    }
    if (indentOf(text) < indent) return undefined;
    content.push(text.slice(indent));
  }
  while (content.at(-1) === "") content.pop();
  const folded = rest.startsWith(">") ? fold(content) : content.join("\n");
  if (folded === undefined) return undefined;
  return { value: rest.endsWith("-") ? folded : `${folded}\n`, next: end };
}

/** Lines that go further in keep their line ends: left to YAML. */
function fold(content: readonly string[]): string | undefined {
  if (content.some((line) => line.startsWith(" "))) return undefined;
  let text = "";
  let blanks = 0;
  for (const line of content) {
    if (line === "") {
      blanks += 1;
      continue;
    }
    if (text !== "" && blanks === 0) text += " ";
    text += "\n".repeat(blanks) + line;
    blanks = 0;
  }
  return text;
}
