import type { Field } from "./field.ts";
import { isPlain, readInlineList, readQuoted, resolvePlain, trimSpaces, unsure } from "./simple-scalars.ts";

/**
 * Reads the part of YAML nearly all definitions are written in, many times as fast as a whole YAML reader: mappings of
 * plain and quoted scalars, lists of them, block scalars. Where it answers, the answer is YAML's; else undefined.
 * It runs on code nobody has warmed up, a few thousand times at once, so a line is taken apart by one regular expression.
 */
export function readSimpleYaml(source: string, { firstLine, onCareless }: SimpleOptions): Field[] | undefined {
  if (!source.endsWith("\n") || unusual.test(source)) return undefined;
  const cursor: Cursor = { source, at: 0, line: firstLine, onCareless };
  const fields: Field[] = [];
  return readMapping(cursor, { indent: 0, fields }) && fields.length > 0 ? fields : undefined;
}

export interface SimpleOptions {
  readonly firstLine: number;
  /**
   * Told of each line of unquoted text with ": " in it, which no YAML reader takes; it is then taken as it stands.
   * Without it such a line is a reason to give up.
   */
  readonly onCareless?: (line: number) => void;
}

/** Tabs, control characters, byte order marks and the like: rare, and each with rules of its own. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const unusual = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\ufeff\ufffe\uffff]/;
/** Words that as keys are no texts, or no ordinary ones, are left out. */
const entry =
  /(?!(?:null|Null|NULL|true|True|TRUE|false|False|FALSE|__proto__):)([A-Za-z_][A-Za-z0-9_-]*):(?: +([^ \n][^\n]*)?)?\n/y;
const item = /- +([^ \n][^\n]*)\n/y;
const newline = 0x0a;
const space = 0x20;
const hash = 0x23;
const dash = 0x2d;
const bracket = 0x5b;

interface Cursor {
  /** Ends with a newline. */
  readonly source: string;
  /** Start of the line that is read next. */
  at: number;
  /** Its number in the file. */
  line: number;
  readonly onCareless: SimpleOptions["onCareless"];
}

interface Mapping {
  readonly indent: number;
  readonly fields: Field[];
}

/** Leaves the cursor after the mapping. False: gave up. */
function readMapping(cursor: Cursor, { indent, fields }: Mapping): boolean {
  const { source } = cursor;
  const seen = new Set<string>();
  while (cursor.at < source.length) {
    const here = indentAt(cursor);
    const code = source.charCodeAt(cursor.at + here);
    if (code === newline || (code === hash && here === 0 && indent === 0)) {
      skipLine(cursor);
      continue;
    }
    if (here < indent) return true;
    if (here > indent) return false;
    entry.lastIndex = cursor.at + here;
    const match = entry.exec(source);
    if (match === null) return false;
    const key = match[1] as string;
    if (seen.has(key)) return false;
    seen.add(key);
    const { line } = cursor;
    cursor.at = entry.lastIndex;
    cursor.line += 1;
    const rest = match[2] === undefined ? "" : trimSpaces(match[2]);
    const value = rest === "" ? readBelow(cursor, indent) : readValue(cursor, { indent, rest });
    if (value === unsure) return false;
    const isTyped = typeof value === "number" || typeof value === "boolean";
    fields.push(isTyped ? { key, value, text: rest, line } : { key, value, line });
  }
  return true;
}

interface Value {
  /** Of the mapping the value belongs to. */
  readonly indent: number;
  /** What stands after the colon, not empty. */
  readonly rest: string;
}

function readValue(cursor: Cursor, { indent, rest }: Value): unknown {
  const first = rest.charAt(0);
  if (first === "|" || first === ">") return readBlockScalar(cursor, { indent, rest });
  if (first !== "[" && first !== '"' && first !== "'") return readPlainLines(cursor, { indent, rest });
  const value = first === "[" ? readInlineList(takeList(cursor, { indent, rest })) : readQuoted(rest);
  return goesOn(cursor, indent) ? unsure : value;
}

/** A list in brackets may go on over lines that are further in; a line end in it is a space. */
function takeList(cursor: Cursor, { indent, rest }: Value): string {
  const lines = [rest];
  for (let last = rest; !last.endsWith("]") && cursor.at < cursor.source.length; lines.push(last)) {
    const here = indentAt(cursor);
    if (here <= indent || isBlank(cursor, here)) break;
    last = trimSpaces(takeLine(cursor));
  }
  return lines.join(" ");
}

function readPlainLines(cursor: Cursor, { indent, rest }: Value): unknown {
  if (!isPlain(rest)) return indent === 0 ? readCareless(cursor, rest) : unsure;
  if (!goesOn(cursor, indent)) return resolvePlain(rest);
  let text = rest;
  while (cursor.at < cursor.source.length) {
    const here = indentAt(cursor);
    if (isBlank(cursor, here)) {
      if (goesOn(cursor, indent)) return unsure;
      break;
    }
    if (here <= indent) break;
    const part = trimSpaces(takeLine(cursor));
    if (!isPlain(part)) return unsure;
    text = `${text} ${part}`;
  }
  return text;
}

function readCareless(cursor: Cursor, rest: string): unknown {
  const isCareless = /^[A-Za-z]/.test(rest) && rest.includes(": ") && !rest.includes(" #");
  if (cursor.onCareless === undefined || !isCareless || goesOn(cursor, 0)) return unsure;
  cursor.onCareless(cursor.line - 1);
  return rest.trim();
}

/** The next line with content is further in, so the value is not at its end. */
function goesOn(cursor: Cursor, indent: number): boolean {
  const { source, at } = cursor;
  const code = at < source.length ? source.charCodeAt(at) : dash;
  if (code !== space && code !== newline) return false;
  const ahead = { ...cursor };
  skipBlank(ahead);
  return ahead.at < source.length && indentAt(ahead) > indent;
}

/** Nothing after the colon: a list or a mapping below, or null. */
function readBelow(cursor: Cursor, indent: number): unknown {
  skipBlank(cursor);
  const { source } = cursor;
  if (cursor.at >= source.length) return null;
  const here = indentAt(cursor);
  if (here >= indent && source.charCodeAt(cursor.at + here) === dash) return readItems(cursor, here);
  if (here <= indent) return null;
  if (source.charCodeAt(cursor.at + here) === bracket) {
    return readValue(cursor, { indent, rest: trimSpaces(takeLine(cursor)) });
  }
  const fields: Field[] = [];
  if (!readMapping(cursor, { indent: here, fields }) || fields.length === 0) return unsure;
  // A line between the two indentations belongs to neither.
  if (cursor.at < source.length && indentAt(cursor) > indent) return unsure;
  return Object.fromEntries(fields.map(({ key, value }) => [key, value]));
}

function readItems(cursor: Cursor, indent: number): unknown {
  const { source } = cursor;
  const items: unknown[] = [];
  for (; cursor.at < source.length; skipBlank(cursor)) {
    const here = indentAt(cursor);
    if (here < indent || (here === indent && source.charCodeAt(cursor.at + here) !== dash)) break;
    item.lastIndex = cursor.at + here;
    const text = here === indent ? item.exec(source)?.[1] : undefined;
    const value = text === undefined ? unsure : readItem(trimSpaces(text));
    if (value === unsure) return unsure;
    items.push(value);
    cursor.at = item.lastIndex;
    cursor.line += 1;
  }
  // What follows further in than the key would have to be checked against the key's indentation: left to YAML.
  return indent > 0 && cursor.at < source.length && indentAt(cursor) === indent ? unsure : items;
}

function readItem(text: string): unknown {
  if (text.startsWith('"') || text.startsWith("'")) return readQuoted(text);
  return isPlain(text) ? resolvePlain(text) : unsure;
}

function readBlockScalar(cursor: Cursor, { indent: outer, rest }: Value): unknown {
  if (!/^[|>]-?$/.test(rest)) return unsure;
  const content: string[] = [];
  let indent = 0;
  let widestBlank = 0;
  while (cursor.at < cursor.source.length) {
    const here = indentAt(cursor);
    if (isBlank(cursor, here)) {
      widestBlank = Math.max(widestBlank, here);
      content.push("");
      skipLine(cursor);
      continue;
    }
    if (here <= outer) break;
    indent ||= here;
    if (here < indent) return unsure;
    content.push(takeLine(cursor).slice(indent));
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

function indentAt({ source, at }: Cursor): number {
  let position = at;
  while (source.charCodeAt(position) === space) position += 1;
  return position - at;
}

function isBlank({ source, at }: Cursor, indent: number): boolean {
  return source.charCodeAt(at + indent) === newline;
}

function skipBlank(cursor: Cursor): void {
  while (cursor.at < cursor.source.length && isBlank(cursor, indentAt(cursor))) skipLine(cursor);
}

function skipLine(cursor: Cursor): void {
  cursor.at = cursor.source.indexOf("\n", cursor.at) + 1;
  cursor.line += 1;
}

function takeLine(cursor: Cursor): string {
  const start = cursor.at;
  skipLine(cursor);
  return cursor.source.slice(start, cursor.at - 1);
}
