/** Where a value stands in a JSON text. */
export interface JsonSpan {
  readonly start: number;
  readonly end: number;
}

/** Finds the elements of the array that is the member `key` of the outermost object. The text must be valid JSON. */
export function elementSpans(
  text: string,
  key: string,
): { readonly array: JsonSpan; readonly elements: readonly JsonSpan[] } | undefined {
  let array: JsonSpan | undefined;
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (text[at] === '"') {
    const keyEnd = skipString(text, at);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = skipValue(text, start);
    // Of members with the same name the last one counts, as in JSON.parse.
    if (JSON.parse(text.slice(at, keyEnd)) === key) array = { start, end };
    at = skipSpace(text, skipSpace(text, end) + 1);
  }
  if (!array || text[array.start] !== "[") return undefined;
  return { array, elements: spansIn(text, array) };
}

function spansIn(text: string, array: JsonSpan): JsonSpan[] {
  const elements: JsonSpan[] = [];
  let at = skipSpace(text, array.start + 1);
  while (at < array.end - 1) {
    const end = skipValue(text, at);
    elements.push({ start: at, end });
    at = skipSpace(text, skipSpace(text, end) + 1);
  }
  return elements;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at += 1;
  return at;
}

function skipString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function skipValue(text: string, from: number): number {
  if (text[from] === '"') return skipString(text, from);
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const character = text[at] ?? "";
    if (depth === 0 && ",]} \n\r\t".includes(character)) return at;
    if (character === '"') {
      at = skipString(text, at);
      continue;
    }
    if (character === "{" || character === "[") depth += 1;
    at += 1;
    if (character === "}" || character === "]") {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return at;
}
