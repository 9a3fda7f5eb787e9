/** Scalars of one line as YAML's core schema reads them. */

/** The answer where only a whole YAML reader knows. */
export const unsure = Symbol("unsure");

export function resolvePlain(text: string): unknown {
  if (!mayBeSpecial[text.charCodeAt(0)]) return text;
  if (text === "true" || text === "false") return text === "true";
  if (/^(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,8})?$/.test(text)) return Number(text);
  return special.test(text) ? unsure : text;
}

const special =
  /^(?:~|null|Null|NULL|True|TRUE|False|FALSE|[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|[-+]?(?:\.[0-9]+|[0-9]+\.?[0-9]*)(?:[eE][-+]?[0-9]+)?)$/;

/** What the words and numbers above can begin with. */
const mayBeSpecial = codesOf("~nNtTfF-+.0123456789");
const indicator = codesOf("-?:,[]{}#&*!|>'\"%@`");

function codesOf(letters: string): readonly boolean[] {
  return Array.from({ length: 128 }, (_, code) => letters.includes(String.fromCharCode(code)));
}

/** Only what can't be anything else than a plain scalar. */
export function isPlain(text: string): boolean {
  if (indicator[text.charCodeAt(0)]) return false;
  const colon = text.indexOf(":");
  if (colon !== -1 && (text.includes(": ", colon) || text.endsWith(":"))) return false;
  return text.indexOf("#") === -1 || !text.includes(" #");
}

export function readInlineList(text: string): unknown {
  if (!text.endsWith("]")) return unsure;
  const inner = trimSpaces(text.slice(1, -1));
  if (inner === "") return [];
  const items: unknown[] = [];
  const pieces = inner.endsWith(",") ? inner.slice(0, -1).split(",") : inner.split(",");
  for (const piece of pieces) {
    const item = trimSpaces(piece);
    const quoted = /^"([^"\\]*)"$/.exec(item) ?? /^'([^']*)'$/.exec(item);
    const value = quoted === null ? readInlineItem(item) : quoted[1];
    if (value === unsure) return unsure;
    items.push(value);
  }
  return items;
}

const inlineItem = /^[A-Za-z_/](?:[A-Za-z0-9_./()* -]|:(?=[A-Za-z0-9_/*]))*$/;

function readInlineItem(item: string): unknown {
  return inlineItem.test(item) ? resolvePlain(item) : unsure;
}

export function readQuoted(text: string): unknown {
  const quote = text.charAt(0);
  if (text.length < 2 || !text.endsWith(quote)) return unsure;
  const inner = text.slice(1, -1);
  if (!inner.includes(quote) && (quote === "'" || !inner.includes("\\"))) return inner;
  if (quote === "'") return /^(?:[^']|'')*$/.test(inner) ? inner.replaceAll("''", "'") : unsure;
  if (!/^(?:[^"\\]|\\[n"\\t])*$/.test(inner)) return unsure;
  if (!inner.includes("\\\\")) return inner.replaceAll('\\"', '"').replaceAll("\\n", "\n").replaceAll("\\t", "\t");
  return inner.replace(/\\(.)/g, (_, letter: string) => (letter === "n" ? "\n" : letter === "t" ? "\t" : letter));
}

const space = 0x20;

/** Only spaces: a no-break space is content. */
export function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) === space) start += 1;
  while (end > start && text.charCodeAt(end - 1) === space) end -= 1;
  return text.slice(start, end);
}
