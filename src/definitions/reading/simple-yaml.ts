import type { Field } from "./field.ts";

/**
 * Reads the part of YAML nearly all definitions are written in, some thirty times as fast as a whole YAML reader:
 * plain and quoted scalars, lists of them, block scalars. Where it answers, the answer is YAML's; else undefined.
 */
export function readSimpleYaml(source: string, firstLine: number): Field[] | undefined {
  if (unusual.test(source)) return undefined;
  const lines = source.split("\n");
  const fields: Field[] = [];
  const seen = new Set<string>();
  let index = 0;
  while (index < lines.length) {
    const line = lines[index] as string;
    if (isBlank(line) || line.startsWith("#")) {
      index += 1;
      continue;
    }
    const colon = line.indexOf(":");
    if (colon < 1) return undefined;
    const key = line.slice(0, colon);
    if (!simpleKey.test(key) || seen.has(key)) return undefined;
    seen.add(key);
    const afterColon = line.charCodeAt(colon + 1);
    if (colon + 1 < line.length && afterColon !== space) return undefined;
    const read = readValue({ lines, index, rest: trimSpaces(line.slice(colon + 1)) });
    if (read === undefined) return undefined;
    fields.push({
      key,
      value: read.value,
      line: firstLine + index,
      ...(read.text === undefined ? {} : { text: read.text }),
    });
    index = read.next;
  }
  return fields.length === 0 ? undefined : fields;
}

/** Tabs, control characters, byte order marks and lone surrogates: rare, and each with rules of its own. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const unusual = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\ufeff\ufffe\uffff]/;
const simpleKey = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const space = 0x20;

interface Place {
  readonly lines: readonly string[];
  readonly index: number;
  readonly rest: string;
}

interface Read {
  readonly value: unknown;
  readonly text?: string;
  readonly next: number;
}

function readValue(place: Place): Read | undefined {
  const first = place.rest.charAt(0);
  if (first === "") return readBlock(place);
  if (first === "|" || first === ">") return readBlockScalar(place);
  if (first === "[") {
    const value = readInlineList(place.rest);
    return value !== undefined && standsAlone(place) ? { value, next: place.index + 1 } : undefined;
  }
  if (first === '"' || first === "'") {
    const value = readQuoted(place.rest);
    return value !== undefined && standsAlone(place) ? { value, next: place.index + 1 } : undefined;
  }
  return readPlainLines(place);
}

/** The next line with content starts at the left edge, so the value does not go on. */
function standsAlone({ lines, index }: Place): boolean {
  for (let next = index + 1; next < lines.length; next++) {
    const line = lines[next] as string;
    if (!isBlank(line)) return line.charCodeAt(0) !== space;
  }
  return true;
}

function readPlainLines(place: Place): Read | undefined {
  if (!isPlain(place.rest)) return undefined;
  const parts = [place.rest];
  let next = place.index + 1;
  for (; next < place.lines.length; next++) {
    const line = place.lines[next] as string;
    if (isBlank(line)) {
      if (!standsAlone({ ...place, index: next })) return undefined;
      break;
    }
    if (line.charCodeAt(0) !== space) break;
    const part = trimSpaces(line);
    if (!isPlain(part)) return undefined;
    parts.push(part);
  }
  if (parts.length > 1) return { value: parts.join(" "), next };
  const resolved = resolvePlain(place.rest);
  return resolved === undefined ? undefined : { value: resolved.value, text: place.rest, next };
}

/** Only what can't be anything else than a plain scalar. */
function isPlain(text: string): boolean {
  return !indicators.includes(text.charAt(0)) && !text.includes(": ") && !text.includes(" #") && !text.endsWith(":");
}

const indicators = "-?:,[]{}#&*!|>'\"%@`";

function resolvePlain(text: string): { value: unknown } | undefined {
  if (text === "true" || text === "false") return { value: text === "true" };
  if (/^(?:0|[1-9][0-9]{0,14})$/.test(text)) return { value: Number(text) };
  const maybeSpecial = /^(?:[-+.~0-9][-+.0-9a-fA-FoxXinfINFaNe_]*|null|Null|NULL|~|True|TRUE|False|FALSE)$/;
  return maybeSpecial.test(text) ? undefined : { value: text };
}

/** Nothing after the colon: a list below, or null. */
function readBlock({ lines, index }: Place): Read | undefined {
  const items: unknown[] = [];
  let indent: number | undefined;
  let next = index + 1;
  for (; next < lines.length; next++) {
    const line = lines[next] as string;
    if (isBlank(line)) continue;
    const here = indentOf(line);
    const isItem = line.charCodeAt(here) === 0x2d;
    if (!isItem && here === 0) break;
    if (!isItem || (indent !== undefined && here !== indent) || line.charCodeAt(here + 1) !== space) return undefined;
    indent = here;
    const item = readItem(trimSpaces(line.slice(here + 2)));
    if (item === undefined) return undefined;
    items.push(item.value);
  }
  return indent === undefined ? { value: null, text: "", next } : { value: items, next };
}

function readItem(text: string): { value: unknown } | undefined {
  if (text === "") return undefined;
  if (text.startsWith('"') || text.startsWith("'")) {
    const value = readQuoted(text);
    return value === undefined ? undefined : { value };
  }
  return isPlain(text) ? resolvePlain(text) : undefined;
}

function readInlineList(text: string): unknown[] | undefined {
  if (!text.endsWith("]")) return undefined;
  const inner = trimSpaces(text.slice(1, -1));
  if (inner === "") return [];
  const items: unknown[] = [];
  for (const piece of inner.split(",")) {
    const item = trimSpaces(piece);
    const quoted = /^"([^"\\]*)"$/.exec(item) ?? /^'([^']*)'$/.exec(item);
    if (quoted !== null) items.push(quoted[1]);
    else {
      if (!/^[A-Za-z_][A-Za-z0-9_./()* -]*$/.test(item)) return undefined;
      const resolved = resolvePlain(item);
      if (resolved === undefined) return undefined;
      items.push(resolved.value);
    }
  }
  return items;
}

function readQuoted(text: string): string | undefined {
  if (text.length < 2) return undefined;
  if (text.startsWith("'")) {
    const single = /^'((?:[^']|'')*)'$/.exec(text)?.[1];
    return single?.replaceAll("''", "'");
  }
  const double = /^"((?:[^"\\]|\\[n"\\t])*)"$/.exec(text)?.[1];
  return double?.replace(/\\(.)/g, (_, letter: string) => (letter === "n" ? "\n" : letter === "t" ? "\t" : letter));
}

function readBlockScalar({ lines, index, rest }: Place): Read | undefined {
  if (!/^[|>]-?$/.test(rest)) return undefined;
  let end = index + 1;
  while (end < lines.length && (isBlank(lines[end] as string) || (lines[end] as string).charCodeAt(0) === space))
    end += 1;
  const indent = indentOf(lines.slice(index + 1, end).find((line) => !isBlank(line)) ?? "");
  if (indent === 0) return undefined;
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
  for (const [position, line] of content.entries()) {
    if (line === "") {
      blanks += 1;
      continue;
    }
    if (position === 0 || text === "") text += "\n".repeat(blanks);
    else text += blanks === 0 ? " " : "\n".repeat(blanks);
    text += line;
    blanks = 0;
  }
  return text;
}

function isBlank(line: string): boolean {
  for (let position = 0; position < line.length; position++) if (line.charCodeAt(position) !== space) return false;
  return true;
}

function indentOf(line: string): number {
  let indent = 0;
  while (line.charCodeAt(indent) === space) indent += 1;
  return indent;
}

/** Only spaces: a no-break space is content. */
function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) === space) start += 1;
  while (end > start && text.charCodeAt(end - 1) === space) end -= 1;
  return text.slice(start, end);
}
