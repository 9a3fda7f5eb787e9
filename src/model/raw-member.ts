/** Returns the text of a top-level member of a JSON object, exactly as written. The text must be valid JSON. */
export function rawMember(json: string, name: string): string | undefined {
  let position = skipSpace(json, 0) + 1;
  for (;;) {
    position = skipSpace(json, position);
    if (json[position] !== '"') return undefined;
    const keyEnd = endOfString(json, position);
    const key: unknown = JSON.parse(json.slice(position, keyEnd));
    const start = skipSpace(json, skipSpace(json, keyEnd) + 1);
    const end = endOfValue(json, start);
    if (key === name) return json.slice(start, end);
    position = skipSpace(json, end);
    if (json[position] !== ",") return undefined;
    position += 1;
  }
}

function skipSpace(json: string, from: number): number {
  let position = from;
  while (position < json.length && " \t\r\n".includes(json.charAt(position))) position += 1;
  return position;
}

function endOfString(json: string, from: number): number {
  let position = from + 1;
  while (position < json.length && json[position] !== '"') position += json[position] === "\\" ? 2 : 1;
  return position + 1;
}

function endOfValue(json: string, from: number): number {
  if (json[from] === '"') return endOfString(json, from);
  let depth = 0;
  let position = from;
  while (position < json.length) {
    const character = json.charAt(position);
    if (character === '"') {
      position = endOfString(json, position);
      continue;
    }
    if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") {
      if (depth === 0) return position;
      depth -= 1;
      if (depth === 0) return position + 1;
    } else if (depth === 0 && ", \t\r\n".includes(character)) return position;
    position += 1;
  }
  return position;
}
