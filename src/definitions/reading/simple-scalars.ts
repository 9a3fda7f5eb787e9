/** Scalars of one line as YAML's core schema reads them; undefined where only a whole YAML reader knows. */

export function resolvePlain(text: string): { value: unknown } | undefined {
  if (text === "true" || text === "false") return { value: text === "true" };
  if (/^(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,8})?$/.test(text)) return { value: Number(text) };
  return special.test(text) ? undefined : { value: text };
}

const special =
  /^(?:~|null|Null|NULL|True|TRUE|False|FALSE|[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|[-+]?(?:\.[0-9]+|[0-9]+\.?[0-9]*)(?:[eE][-+]?[0-9]+)?)$/;

export function readInlineList(text: string): unknown[] | undefined {
  if (!text.endsWith("]")) return undefined;
  const inner = trimSpaces(text.slice(1, -1));
  if (inner === "") return [];
  const items: unknown[] = [];
  for (const piece of inner.split(",")) {
    const item = trimSpaces(piece);
    const quoted = /^"([^"\\]*)"$/.exec(item) ?? /^'([^']*)'$/.exec(item);
    if (quoted !== null) {
      items.push(quoted[1]);
      continue;
    }
    const resolved = /^[A-Za-z_][A-Za-z0-9_./()* -]*$/.test(item) ? resolvePlain(item) : undefined;
    if (resolved === undefined) return undefined;
    items.push(resolved.value);
  }
  return items;
}

export function readQuoted(text: string): string | undefined {
  const quote = text.charAt(0);
  if (text.length < 2 || !text.endsWith(quote)) return undefined;
  const inner = text.slice(1, -1);
  if (!inner.includes(quote) && (quote === "'" || !inner.includes("\\"))) return inner;
  if (quote === "'") return /^(?:[^']|'')*$/.test(inner) ? inner.replaceAll("''", "'") : undefined;
  if (!/^(?:[^"\\]|\\[n"\\t])*$/.test(inner)) return undefined;
  if (!inner.includes("\\\\")) return inner.replaceAll('\\"', '"').replaceAll("\\n", "\n").replaceAll("\\t", "\t");
  return inner.replace(/\\(.)/g, (_, letter: string) => (letter === "n" ? "\n" : letter === "t" ? "\t" : letter));
}

const space = 0x20;

export function isBlank(line: string): boolean {
  for (let position = 0; position < line.length; position++) if (line.charCodeAt(position) !== space) return false;
  return true;
}

export function indentOf(line: string): number {
  let indent = 0;
  while (line.charCodeAt(indent) === space) indent += 1;
  return indent;
}

/** Only spaces: a no-break space is content. */
export function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) === space) start += 1;
  while (end > start && text.charCodeAt(end - 1) === space) end -= 1;
  return text.slice(start, end);
}
