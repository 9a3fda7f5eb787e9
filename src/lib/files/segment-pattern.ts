/** A compiled part of a path pattern: `**`, a plain name, or the tokens of a name with wildcards. */
export type SegmentPattern = "**" | { readonly name: string } | readonly NameToken[];

/** A part of the pattern for a name: any characters, a specific character, or one character of a set. */
export type NameToken = "*" | { readonly character: string } | { readonly test: (character: string) => boolean };

/** Longest pattern that is compiled. Matching takes at most this many steps for each character of a path. */
export const MAX_PATTERN_LENGTH = 10_000;

/**
 * Compiles the part of a pattern between two `/`. `*` matches any characters, `?` one, `[a-z]` and `[!a-z]` one of a
 * set; `\` escapes the next character.
 */
export function compileSegment(segment: string): SegmentPattern {
  if (segment === "**") return "**";
  if (!/[*?[\\]/.test(segment)) return { name: segment };
  const tokens: NameToken[] = [];
  const characters = [...segment];
  const lastBracket = characters.lastIndexOf("]");
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index]!;
    if (character === "*") {
      if (tokens.at(-1) !== "*") tokens.push("*");
    } else if (character === "?") tokens.push({ test: () => true });
    else if (character === "\\" && index + 1 < characters.length) {
      index += 1;
      tokens.push({ character: characters[index]! });
    } else if (character === "[" && index < lastBracket) {
      const end = characters.indexOf("]", index + (/[!^\]]/.test(characters[index + 1] ?? "") ? 3 : 2));
      if (end === -1) tokens.push({ character });
      else {
        tokens.push({ test: characterClass(characters.slice(index + 1, end)) });
        index = end;
      }
    } else tokens.push({ character });
  }
  return tokens;
}

/** Returns the text between the wildcards of a segment: `.env` and an empty string for `.env*`. */
export function literalPieces(segment: string): string[] {
  const pattern = compileSegment(segment);
  if (pattern === "**") return ["", ""];
  if ("name" in pattern) return [pattern.name];
  const pieces = [""];
  for (const token of pattern) {
    if (token !== "*" && "character" in token) pieces.push(pieces.pop() + token.character);
    else pieces.push("");
  }
  return pieces;
}

function characterClass(body: readonly string[]): (character: string) => boolean {
  const negated = body[0] === "!" || body[0] === "^";
  const members = negated ? body.slice(1) : body;
  const single = new Set<string>();
  const ranges: (readonly [string, string])[] = [];
  for (let index = 0; index < members.length; index += 1) {
    const low = members[index]!;
    const high = members[index + 1] === "-" ? members[index + 2] : undefined;
    if (high === undefined) single.add(low);
    else {
      ranges.push([low, high]);
      index += 2;
    }
  }
  return (character) => {
    const found = single.has(character) || ranges.some(([low, high]) => character >= low && character <= high);
    return found !== negated;
  };
}

/**
 * Returns true if the names of a path match. `**` matches any number of names. With `below`, a matched directory covers
 * its contents. Backtracks only to the last `**`, so that the time never grows exponentially.
 */
export function matchSegments(
  pattern: readonly SegmentPattern[],
  path: readonly string[],
  { below }: { readonly below: boolean },
): boolean {
  let at = 0;
  let inPath = 0;
  let star = -1;
  let resume = 0;
  while (true) {
    if (at === pattern.length && (below || inPath === path.length)) return true;
    const wanted = pattern[at];
    if (wanted === "**") {
      star = at;
      resume = inPath;
      at += 1;
    } else if (inPath < path.length && wanted !== undefined && matchName(wanted, path[inPath]!)) {
      at += 1;
      inPath += 1;
    } else if (star !== -1 && resume < path.length) {
      resume += 1;
      inPath = resume;
      at = star + 1;
    } else return false;
  }
}

function matchName(pattern: { readonly name: string } | readonly NameToken[], name: string): boolean {
  return "name" in pattern ? pattern.name === name : matchTokens(pattern, [...name]);
}

/** Returns true if the characters match. Backtracks only to the last star. */
export function matchTokens(pattern: readonly NameToken[], characters: readonly string[]): boolean {
  let at = 0;
  let inName = 0;
  let star = -1;
  let resume = 0;
  while (inName < characters.length) {
    const token = pattern[at];
    if (token === "*") {
      // Nothing after a final star needs to be compared.
      if (at === pattern.length - 1) return true;
      star = at;
      resume = inName;
      at += 1;
    } else if (token !== undefined && matchToken(token, characters[inName]!)) {
      at += 1;
      inName += 1;
    } else if (star !== -1) {
      resume += 1;
      inName = resume;
      at = star + 1;
    } else return false;
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}

function matchToken(token: Exclude<NameToken, "*">, character: string): boolean {
  return "character" in token ? token.character === character : token.test(character);
}

const MAX_BRACES = 64;
const MAX_ALTERNATIVES = 256;

/**
 * Expands `{a,b}.ts` to `a.ts` and `b.ts`. Returns undefined for unmatched braces, ranges such as `{1..3}` and too many
 * alternatives.
 */
export function expandBraces(glob: string): readonly string[] | undefined {
  if (glob.length > MAX_PATTERN_LENGTH || glob.split("{").length > MAX_BRACES) return undefined;
  let found: readonly string[] = [glob];
  while (found.some((text) => text.includes("{"))) {
    const next = new Set<string>();
    for (const text of found) {
      const end = text.indexOf("}");
      const start = end === -1 ? text.indexOf("{") : text.lastIndexOf("{", end);
      const body = text.slice(start + 1, end);
      if (start === -1 || end === -1 || body.includes("..")) return undefined;
      for (const each of body.split(",")) {
        next.add(text.slice(0, start) + each + text.slice(end + 1));
        if (next.size > MAX_ALTERNATIVES) return undefined;
      }
    }
    found = [...next];
  }
  return found.some((text) => text.includes("}")) ? undefined : found;
}

/** Returns true if the text consists of the parts in order, with anything between them. Never backtracks. */
export function matchParts(parts: readonly string[], text: string): boolean {
  const head = parts[0]!;
  const tail = parts.at(-1)!;
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false;
  let at = head.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= text.length - tail.length;
}
