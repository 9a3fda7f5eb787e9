/**
 * Expands the braces in a word as bash does. The word is encoded: `\` precedes each quoted character, and NUL
 * characters enclose the number of an expansion such as `$x`. Returns undefined if there are too many results, or if
 * the results differ between versions of bash.
 */
export function expandBraces(code: string): readonly string[] | undefined {
  if (!code.includes("{")) return [code];
  const tokens = tokensOf(code);
  if (firstBraces(tokens) === undefined) return [code];
  const expansion: Expansion = { left: MAX_WORK };
  const words = expandWord(tokens, expansion);
  return expansion.left < 0 ? undefined : words.map((word) => word.join(""));
}

const NUL = "\u0000";

/** Maximum number of tokens in all results together. */
const MAX_WORK = 20_000;

/** Number of tokens that may still be produced; negative if the expansion was abandoned. */
interface Expansion {
  left: number;
}

/** A plain character, a quoted character with its `\`, or an expansion with its NUL characters. */
type Token = string;

export function tokensOf(code: string): Token[] {
  return code.match(TOKEN) ?? [];
}

const TOKEN = new RegExp(String.raw`\\.|${NUL}\d+${NUL}|.`, "gsu");

function expandWord(tokens: readonly Token[], expansion: Expansion): Token[][] {
  expansion.left -= tokens.length + 1;
  if (expansion.left < 0) return [];
  const found = firstBraces(tokens);
  if (found === undefined) return [[...tokens]];
  const { open, close } = found;
  const body = tokens.slice(open + 1, close);
  const alternatives = body.includes(",") ? alternativesOf(body, expansion) : rangeOf(body.join(""), expansion);
  const middle = alternatives ?? [tokens.slice(open, close + 1)];
  const rest = expandWord(tokens.slice(close + 1), expansion);
  const before = tokens.slice(0, open);
  const results: Token[][] = [];
  for (const each of middle) {
    for (const after of rest) {
      expansion.left -= before.length + each.length + after.length + 1;
      if (expansion.left < 0) return [];
      results.push([...before, ...each, ...after]);
    }
  }
  return results;
}

/** Returns the first pair of braces with a comma or a range between them. */
function firstBraces(tokens: readonly Token[]): { readonly open: number; readonly close: number } | undefined {
  const closing = closingBraces(tokens);
  for (const [open, token] of tokens.entries()) {
    // Bash leaves `{}` alone at the start of a word.
    if (token !== "{" || (open === 0 && tokens[1] === "}")) continue;
    const close = closing.get(open);
    if (close !== undefined) return { open, close };
  }
  return undefined;
}

/** Returns the matching brace for each opening brace that begins an expansion. Takes linear time. */
function closingBraces(tokens: readonly Token[]): ReadonlyMap<number, number> {
  const pairs = new Map<number, number>();
  const levels: { readonly open: number; separators: number }[] = [];
  for (const [index, token] of tokens.entries()) {
    const level = levels.at(-1);
    if (token === "{") levels.push({ open: index, separators: 0 });
    else if (level === undefined) continue;
    else if (token === ",") level.separators += 1;
    else if (token === "." && tokens[index + 1] === "." && tokens[index + 2] !== "}") level.separators += 1;
    else if (token === "}") {
      if (level.separators > 0) pairs.set(level.open, index);
      // Bash keeps looking for a closing brace after `{a}`, which makes `{a},b}` an expansion.
      else if (levels.length === 1) continue;
      levels.pop();
    }
  }
  return pairs;
}

function alternativesOf(body: readonly Token[], expansion: Expansion): Token[][] {
  const results: Token[][] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index <= body.length; index += 1) {
    const token = body[index];
    if (token === "{") depth += 1;
    else if (token === "}" && depth > 0) depth -= 1;
    if (token !== undefined && (token !== "," || depth > 0)) continue;
    results.push(...expandWord(body.slice(start, index), expansion));
    start = index + 1;
  }
  return results;
}

/** Returns the members of `1..9`, `01..10..2` or `a..e`; undefined if the text is not a range. */
function rangeOf(body: string, expansion: Expansion): Token[][] | undefined {
  const [, from, to, step] = /^([-+]?\d+|[A-Za-z])\.\.([-+]?\d+|[A-Za-z])(?:\.\.([-+]?\d+))?$/.exec(body) ?? [];
  if (from === undefined || to === undefined) return undefined;
  const isLetter = /[A-Za-z]/.test(from);
  if (isLetter !== /[A-Za-z]/.test(to)) return undefined;
  // A range from one case to the other includes special characters, which versions of bash treat differently.
  const isOdd = isLetter && /[a-z]/.test(from) !== /[a-z]/.test(to);
  const [first, last] = isLetter ? [from.codePointAt(0)!, to.codePointAt(0)!] : [Number(from), Number(to)];
  const width = Math.abs(Number(step ?? 1)) || 1;
  const count = Math.floor(Math.abs(last - first) / width) + 1;
  expansion.left -= count;
  if (isOdd || ![first, last, width].every(Number.isSafeInteger)) expansion.left = -1;
  if (expansion.left < 0) return undefined;
  const padded = [from, to].some((text) => /^-?0\d/.test(text)) ? Math.max(from.length, to.length) : 0;
  return Array.from({ length: count }, (_, index) => {
    const value = first + (last >= first ? index : -index) * width;
    return [...(isLetter ? String.fromCodePoint(value) : pad(value, padded))];
  });
}

function pad(value: number, width: number): string {
  const digits = String(Math.abs(value));
  return value < 0 ? `-${digits.padStart(width - 1, "0")}` : digits.padStart(width, "0");
}
