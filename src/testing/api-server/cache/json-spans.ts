/** A byte range in valid JSON. The cache compares the bytes that were sent, not the values they parse to. */
export type Span = { start: number; end: number };
export type Member = { key: string; keyStart: number; value: Span };

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/** Returns the span of the value that begins at or after `from`. */
export function valueAt(json: Buffer, from: number): Span {
  const start = skipBlanks(json, from);
  const first = json[start];
  if (first === quote) return { start, end: stringEnd(json, start) };
  if (first === 0x7b || first === 0x5b) return { start, end: bracketEnd(json, start) };
  let end = start;
  while (end < json.length && !isDelimiter(json[end])) end += 1;
  return { start, end };
}

export function membersOf(json: Buffer, object: Span): readonly Member[] {
  const members: Member[] = [];
  let at = skipBlanks(json, object.start + 1);
  while (at < object.end - 1) {
    const key = valueAt(json, at);
    const colon = skipBlanks(json, key.end);
    const value = valueAt(json, colon + 1);
    members.push({ key: json.toString("utf8", key.start + 1, key.end - 1), keyStart: key.start, value });
    at = afterComma(json, value.end);
  }
  return members;
}

export function itemsOf(json: Buffer, array: Span): readonly Span[] {
  const items: Span[] = [];
  let at = skipBlanks(json, array.start + 1);
  while (at < array.end - 1) {
    const item = valueAt(json, at);
    items.push(item);
    at = afterComma(json, item.end);
  }
  return items;
}

export function isArray(json: Buffer, span: Span): boolean {
  return json[span.start] === 0x5b;
}

/** Returns the bytes of the object without one of its members. */
export function withoutMember(
  json: Buffer,
  object: Span,
  { members, key }: { members: readonly Member[]; key: string },
) {
  const index = members.findIndex((member) => member.key === key);
  const member = members[index];
  if (member === undefined) return json.subarray(object.start, object.end);
  const before = members[index - 1];
  const after = members[index + 1];
  const cutStart = before?.value.end ?? member.keyStart;
  const cutEnd = before === undefined && after !== undefined ? after.keyStart : member.value.end;
  return Buffer.concat([json.subarray(object.start, cutStart), json.subarray(cutEnd, object.end)]);
}

function skipBlanks(json: Buffer, from: number): number {
  let at = from;
  while (isBlank(json[at])) at += 1;
  return at;
}

function afterComma(json: Buffer, from: number): number {
  const at = skipBlanks(json, from);
  return json[at] === comma ? skipBlanks(json, at + 1) : at;
}

/** Returns the index after the closing quote. */
function stringEnd(json: Buffer, start: number): number {
  for (let at = start + 1; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) return at + 1;
    if (byte === backslash) at += 1;
  }
  throw new Error("not JSON: unterminated string");
}

function bracketEnd(json: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) at = stringEnd(json, at) - 1;
    else if (byte === 0x7b || byte === 0x5b) depth += 1;
    else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    if (depth === 0) return at + 1;
  }
  throw new Error("not JSON: unclosed bracket");
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isDelimiter(byte: number | undefined): boolean {
  return isBlank(byte) || byte === comma || byte === 0x7d || byte === 0x5d;
}
