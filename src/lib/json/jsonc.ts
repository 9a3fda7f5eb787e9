export interface JsonIssue {
  /** Line number, starting at 1. Columns also start at 1. */
  line: number;
  column: number;
  message: string;
}

export type JsoncResult = { value: unknown; warnings: JsonIssue[] } | { error: JsonIssue };

/**
 * Parses JSON with comments and trailing commas, and is strict about everything else. Never throws. Uses the last value
 * of a duplicate key and adds a warning. Treats `__proto__` as an ordinary key.
 */
export function parseJsonc(text: string): JsoncResult {
  const reader: Reader = { text, position: text.startsWith("\ufeff") ? 1 : 0, warnings: [], depth: 0 };
  try {
    skipBlank(reader);
    const value = readValue(reader);
    skipBlank(reader);
    if (reader.position < text.length) stop(reader, `unexpected ${here(reader)} after the end of the value`);
    return { value, warnings: reader.warnings };
  } catch (error) {
    if (error instanceof JsoncError) return { error: error.issue };
    throw error;
  }
}

interface Reader {
  readonly text: string;
  position: number;
  readonly warnings: JsonIssue[];
  depth: number;
}

const MAX_DEPTH = 200;

class JsoncError extends Error {
  readonly issue: JsonIssue;
  constructor(issue: JsonIssue) {
    super(issue.message);
    this.issue = issue;
  }
}

function readValue(reader: Reader): unknown {
  switch (reader.text[reader.position]) {
    case "{":
      return nested(reader, readObject);
    case "[":
      return nested(reader, readArray);
    case '"':
      return readString(reader);
    case undefined:
      return stop(reader, "expected a value, but the text ends here");
    default:
      return readLiteral(reader);
  }
}

function nested<T>(reader: Reader, read: (reader: Reader) => T): T {
  reader.depth += 1;
  if (reader.depth > MAX_DEPTH) stop(reader, `values are nested more than ${MAX_DEPTH} levels deep`);
  reader.position += 1;
  const value = read(reader);
  reader.depth -= 1;
  return value;
}

function readObject(reader: Reader): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  while (!closes(reader, "}")) {
    const keyAt = reader.position;
    if (reader.text[keyAt] !== '"') stop(reader, `expected a key in double quotes, not ${here(reader)}`);
    const key = readString(reader);
    if (Object.hasOwn(object, key)) {
      reader.warnings.push(
        issueAt(reader.text, {
          position: keyAt,
          message: `the key ${JSON.stringify(key)} occurs twice; the last value is used`,
        }),
      );
    }
    skipBlank(reader);
    if (reader.text[reader.position] !== ":") stop(reader, `expected ":" after the key, not ${here(reader)}`);
    reader.position += 1;
    skipBlank(reader);
    const value = readValue(reader);
    // A plain assignment to `__proto__` would change the object's prototype.
    if (key === "__proto__")
      Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
    else object[key] = value;
    readSeparator(reader, "}");
  }
  return object;
}

function readArray(reader: Reader): unknown[] {
  const array: unknown[] = [];
  while (!closes(reader, "]")) {
    array.push(readValue(reader));
    readSeparator(reader, "]");
  }
  return array;
}

/** Skips the closing bracket if it comes next, and returns true in that case. */
function closes(reader: Reader, bracket: string): boolean {
  skipBlank(reader);
  if (reader.text[reader.position] !== bracket) return false;
  reader.position += 1;
  return true;
}

/** Reads a comma, including a trailing one. Before the closing bracket, the comma is optional. */
function readSeparator(reader: Reader, bracket: string): void {
  skipBlank(reader);
  const next = reader.text[reader.position];
  if (next === ",") reader.position += 1;
  else if (next !== bracket) stop(reader, `expected "," or "${bracket}", not ${here(reader)}`);
}

function readString(reader: Reader): string {
  const start = reader.position;
  // Find the closing quote; JSON.parse validates the content.
  const string = /"(?:[^"\\\n]|\\.)*"/y;
  string.lastIndex = start;
  const found = string.exec(reader.text)?.[0];
  if (found === undefined) return stop(reader, "the string has no closing quote on its line");
  try {
    reader.position += found.length;
    return JSON.parse(found) as string;
  } catch {
    reader.position = start;
    return stop(reader, "the string contains an invalid escape or a control character");
  }
}

const literals: Readonly<Record<string, unknown>> = { true: true, false: false, null: null };

function readLiteral(reader: Reader): unknown {
  const literal = /[^\s,:[\]{}"/]+/y;
  literal.lastIndex = reader.position;
  const found = literal.exec(reader.text)?.[0];
  if (found === undefined) return stop(reader, `expected a value, not ${here(reader)}`);
  if (Object.hasOwn(literals, found)) {
    reader.position += found.length;
    return literals[found];
  }
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(found)) {
    return stop(reader, `${JSON.stringify(found.slice(0, 40))} is not a JSON value; strings need double quotes`);
  }
  reader.position += found.length;
  return Number(found);
}

function skipBlank(reader: Reader): void {
  const { text } = reader;
  while (true) {
    const blank = /[ \t\r\n]*/y;
    blank.lastIndex = reader.position;
    blank.exec(text);
    reader.position = blank.lastIndex;
    if (text.startsWith("//", reader.position)) {
      const end = text.indexOf("\n", reader.position);
      reader.position = end < 0 ? text.length : end;
    } else if (text.startsWith("/*", reader.position)) {
      const end = text.indexOf("*/", reader.position + 2);
      if (end < 0) stop(reader, "the comment is not closed");
      reader.position = end + 2;
    } else return;
  }
}

function here({ text, position }: Reader): string {
  const character = text.codePointAt(position);
  return character === undefined ? "the end of the text" : JSON.stringify(String.fromCodePoint(character));
}

function stop(reader: Reader, message: string): never {
  throw new JsoncError(issueAt(reader.text, { position: reader.position, message }));
}

function issueAt(text: string, { position, message }: { position: number; message: string }): JsonIssue {
  const before = text.slice(0, position);
  const line = before.split("\n").length;
  const column = position - (before.lastIndexOf("\n") + 1) + 1;
  return { line, column, message };
}
