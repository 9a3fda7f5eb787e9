import type { Field } from "./field.ts";
import { indentOf, isPlain, readInlineList, readQuoted, resolvePlain, trimSpaces, unsure } from "./simple-scalars.ts";

/**
 * Reads the part of YAML nearly all definitions are written in, many times as fast as a whole YAML reader: mappings of
 * plain and quoted scalars, lists of them, block scalars. Where it answers, the answer is YAML's; else undefined.
 * Runs on code nobody has warmed up, a few thousand times at once: native calls and few objects make the difference.
 */
export function readSimpleYaml(source: string, firstLine: number): Field[] | undefined {
  if (unusual.test(source)) return undefined;
  const cursor: Cursor = { lines: source.split("\n"), index: 0 };
  const fields: Field[] = [];
  const isRead = readMapping(cursor, { indent: 0, fields, firstLine });
  return isRead && cursor.index === cursor.lines.length && fields.length > 0 ? fields : undefined;
}

/** Tabs, control characters, byte order marks and the like: rare, and each with rules of its own. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const unusual = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\ufeff\ufffe\uffff]/;
/** Words that as keys are no texts, or no ordinary ones, are left out. */
const simpleKey = /^(?!(?:null|Null|NULL|true|True|TRUE|false|False|FALSE|__proto__)$)[A-Za-z_][A-Za-z0-9_-]*$/;
const space = 0x20;
const hash = 0x23;
const dash = 0x2d;

interface Cursor {
  readonly lines: readonly string[];
  /** Of the line that is read next. */
  index: number;
}

interface Mapping {
  readonly indent: number;
  readonly fields: Field[];
  readonly firstLine: number;
}

/** Leaves the cursor after the mapping. False: gave up. */
function readMapping(cursor: Cursor, { indent, fields, firstLine }: Mapping): boolean {
  const { lines } = cursor;
  const seen = new Set<string>();
  while (cursor.index < lines.length) {
    const { index } = cursor;
    const line = lines[index] as string;
    const here = indentOf(line);
    const code = line.charCodeAt(here);
    if (here === line.length || (indent === 0 && here === 0 && code === hash)) {
      cursor.index += 1;
      continue;
    }
    if (here < indent) return true;
    if (here > indent || code === hash) return false;
    const colon = line.indexOf(":", here);
    if (colon < 0 || (colon + 1 < line.length && line.charCodeAt(colon + 1) !== space)) return false;
    const key = line.slice(here, colon);
    if (!simpleKey.test(key) || seen.has(key)) return false;
    seen.add(key);
    const rest = trimSpaces(line, colon + 1);
    const value = readValue(cursor, { indent, rest });
    if (value === unsure) return false;
    const isText = typeof value === "string" || typeof value === "object";
    fields.push(isText ? { key, value, line: firstLine + index } : { key, value, text: rest, line: firstLine + index });
  }
  return true;
}

interface Value {
  /** Of the mapping the value belongs to. */
  readonly indent: number;
  /** What stands after the colon. */
  readonly rest: string;
}

function readValue(cursor: Cursor, { indent, rest }: Value): unknown {
  const first = rest.charAt(0);
  if (first === "") return readBelow(cursor, indent);
  if (first === "|" || first === ">") return readBlockScalar(cursor, { indent, rest });
  if (first !== "[" && first !== '"' && first !== "'") return readPlainLines(cursor, { indent, rest });
  cursor.index += 1;
  const value = first === "[" ? readInlineList(rest) : readQuoted(rest);
  return goesOn(cursor, indent) ? unsure : value;
}

/** The next line with content is further in, so the value is not at its end. */
function goesOn({ lines, index }: Cursor, indent: number): boolean {
  for (let next = index; next < lines.length; next++) {
    const line = lines[next] as string;
    const here = indentOf(line);
    if (here < line.length) return here > indent;
  }
  return false;
}

function readPlainLines(cursor: Cursor, { indent, rest }: Value): unknown {
  if (!isPlain(rest)) return unsure;
  let text = rest;
  let isLong = false;
  while (++cursor.index < cursor.lines.length) {
    const line = cursor.lines[cursor.index] as string;
    const here = indentOf(line);
    if (here === line.length) {
      if (goesOn(cursor, indent)) return unsure;
      break;
    }
    if (here <= indent) break;
    const part = trimSpaces(line, here);
    if (!isPlain(part)) return unsure;
    text = `${text} ${part}`;
    isLong = true;
  }
  return isLong ? text : resolvePlain(text);
}

/** Nothing after the colon: a list or a mapping below, or null. */
function readBelow(cursor: Cursor, indent: number): unknown {
  const { lines } = cursor;
  let first = cursor.index + 1;
  while (first < lines.length && indentOf(lines[first] as string) === lines[first]?.length) first += 1;
  const line = lines[first] ?? "";
  const here = indentOf(line);
  cursor.index = first;
  if (line.charCodeAt(here) === dash && here >= indent) return readItems(cursor, here);
  if (here <= indent) return null;
  const fields: Field[] = [];
  if (!readMapping(cursor, { indent: here, fields, firstLine: 0 }) || fields.length === 0) return unsure;
  // A line between the two indentations belongs to neither.
  if (cursor.index < lines.length && indentOf(lines[cursor.index] as string) > indent) return unsure;
  return Object.fromEntries(fields.map(({ key, value }) => [key, value]));
}

function readItems(cursor: Cursor, indent: number): unknown {
  const { lines } = cursor;
  const items: unknown[] = [];
  for (; cursor.index < lines.length; cursor.index++) {
    const line = lines[cursor.index] as string;
    const here = indentOf(line);
    if (here === line.length) continue;
    if (here < indent || (here === indent && line.charCodeAt(here) !== dash)) break;
    if (here > indent || line.charCodeAt(here + 1) !== space) return unsure;
    const item = readItem(trimSpaces(line, here + 2));
    if (item === unsure) return unsure;
    items.push(item);
  }
  // What follows further in than the key would have to be checked against the key's indentation: left to YAML.
  const after = lines[cursor.index];
  if (after !== undefined && indent > 0 && indentOf(after) === indent) return unsure;
  return items;
}

function readItem(text: string): unknown {
  if (text === "") return unsure;
  if (text.startsWith('"') || text.startsWith("'")) return readQuoted(text);
  return isPlain(text) ? resolvePlain(text) : unsure;
}

function readBlockScalar(cursor: Cursor, { indent: outer, rest }: Value): unknown {
  if (!/^[|>]-?$/.test(rest)) return unsure;
  const content: string[] = [];
  let indent = 0;
  let widestBlank = 0;
  while (++cursor.index < cursor.lines.length) {
    const line = cursor.lines[cursor.index] as string;
    const here = indentOf(line);
    if (here === line.length) {
      widestBlank = Math.max(widestBlank, here);
      content.push("");
      continue;
    }
    if (here <= outer) break;
    indent ||= here;
    if (here < indent) return unsure;
    content.push(line.slice(indent));
  }
  if (indent === 0 || widestBlank > indent) return unsure;
  while (content.at(-1) === "") content.pop();
  const folded = rest.startsWith(">") ? fold(content) : content.join("\n");
  return folded === undefined ? unsure : rest.endsWith("-") ? folded : `${folded}\n`;
}

/** Lines that go further in keep their line ends: left to YAML. */
function fold(content: readonly string[]): string | undefined {
  let text = "";
  let blanks = 0;
  for (const line of content) {
    if (line === "") {
      blanks += 1;
      continue;
    }
    if (line.charCodeAt(0) === space) return undefined;
    if (text !== "" && blanks === 0) text += " ";
    text += "\n".repeat(blanks) + line;
    blanks = 0;
  }
  return text;
}
