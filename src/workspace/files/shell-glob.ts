import { matchTokens, type NameToken } from "../../lib/index.ts";

export interface GlobMatcher {
  readonly matches: (name: string) => boolean;
  /** True if the glob also matches `.` and `..`. */
  readonly matchesDots: boolean;
}

/**
 * Compiles one name in a path pattern as bash reads it. Returns the name itself if it has no special characters, and
 * undefined if its meaning depends on the locale. Matching takes at most as many steps as the length of the pattern
 * times the length of the name.
 */
export function compileGlob(glob: string): GlobMatcher | string | undefined {
  const tokens = tokensOf([...glob]);
  if (tokens === undefined) return undefined;
  const characters = tokens.map((token) => (token !== "*" && "character" in token ? token.character : undefined));
  if (!characters.includes(undefined)) return characters.join("");
  const startsWithDot = characters[0] === ".";
  const matchesAny = (name: string) => matchTokens(tokens, [...name]) || matchTokens(tokens, bytesOf(name));
  return {
    matches: (name) => (startsWithDot || !name.startsWith(".")) && matchesAny(name),
    matchesDots: startsWithDot && matchTokens(tokens, [".", "."]),
  };
}

/** Returns the bytes of a name as characters, because `?` matches a single byte in some locales. */
function bytesOf(name: string): string[] {
  return [...Buffer.from(name, "utf8").toString("latin1")];
}

function tokensOf(characters: readonly string[]): readonly NameToken[] | undefined {
  const tokens: NameToken[] = [];
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index]!;
    if (character === "\\" && index + 1 < characters.length) {
      index += 1;
      tokens.push({ character: characters[index]! });
    } else if (character === "*") {
      if (tokens.at(-1) !== "*") tokens.push("*");
    } else if (character === "?") tokens.push({ test: () => true });
    else if (character !== "[") tokens.push({ character });
    else {
      const bracket = readBracket(characters, index);
      if (bracket === "unknown") return undefined;
      // Without a closing bracket, an opening bracket is an ordinary character.
      if (bracket === undefined) tokens.push({ character });
      else {
        tokens.push({ test: bracket.test });
        index = bracket.end;
      }
    }
  }
  return tokens;
}

interface Bracket {
  readonly test: (character: string) => boolean;
  /** Index of the closing bracket. */
  readonly end: number;
}

function readBracket(characters: readonly string[], start: number): Bracket | "unknown" | undefined {
  let index = start + 1;
  const isNegated = characters[index] === "!" || characters[index] === "^";
  if (isNegated) index += 1;
  const tests: ((character: string) => boolean)[] = [];
  for (let isFirst = true; ; isFirst = false) {
    const character = characters[index];
    if (character === undefined) return undefined;
    if (character === "]" && !isFirst) break;
    const special = character === "[" ? characters[index + 1] : undefined;
    if (special === "." || special === "=") return "unknown";
    if (special === ":") {
      const end = characters.indexOf(":", index + 2);
      const name = characters.slice(index + 2, end).join("");
      if (end === -1 || characters[end + 1] !== "]" || !classes.has(name)) return "unknown";
      const pattern = classes.get(name)!;
      tests.push((other) => pattern.test(other));
      index = end + 2;
      continue;
    }
    const low = memberAt(characters, index);
    if (low === undefined) return undefined;
    index = low.next;
    const isRange = characters[index] === "-" && characters[index + 1] !== "]" && characters[index + 1] !== undefined;
    if (!isRange) {
      tests.push((other) => other === low.character);
      continue;
    }
    if (characters[index + 1] === "[") return "unknown";
    const high = memberAt(characters, index + 1);
    if (high === undefined) return undefined;
    index = high.next;
    tests.push((other) => isBetween(other, [low.character, high.character], isNegated));
  }
  const has = (character: string) => tests.some((test) => test(character));
  return { test: isNegated ? (character) => !has(character) : has, end: index };
}

function memberAt(
  characters: readonly string[],
  index: number,
): { readonly character: string; readonly next: number } | undefined {
  const isQuoted = characters[index] === "\\";
  const character = characters[isQuoted ? index + 1 : index];
  return character === undefined ? undefined : { character, next: index + (isQuoted ? 2 : 1) };
}

/** In some locales, a range of lowercase letters includes uppercase letters. If in doubt, the name matches. */
function isBetween(character: string, [low, high]: readonly [string, string], exactly: boolean): boolean {
  const variants = exactly ? [character] : [character, character.toLowerCase(), character.toUpperCase()];
  const bounds = exactly
    ? [[low, high]]
    : [
        [low, high],
        [low.toLowerCase(), high.toLowerCase()],
      ];
  return bounds.some(([from, to]) => variants.some((each) => each >= from! && each <= to!));
}

const classes: ReadonlyMap<string, RegExp> = new Map([
  ["alpha", /^\p{L}/u],
  ["digit", /^\d/],
  ["alnum", /^[\p{L}\p{N}]/u],
  ["upper", /^\p{Lu}/u],
  ["lower", /^\p{Ll}/u],
  ["space", /^\s/],
  ["blank", /^[ \t]/],
  ["punct", /^[!-/:-@[-`{-~]/],
  ["print", /^\P{Cc}/u],
  ["graph", /^[^\p{Cc}\s]/u],
  ["cntrl", /^\p{Cc}/u],
  ["xdigit", /^[\dA-Fa-f]/],
  ["word", /^[\w\p{L}\p{N}]/u],
  ["ascii", /^\p{ASCII}/u],
]);
