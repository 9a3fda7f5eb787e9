import type { ShellWord, WordPiece } from "./shell-word.ts";

/** Values of the variables of `for` loops. */
export type LoopWords = ReadonlyMap<string, readonly ShellWord[]>;

/** The files that a word names. */
export interface WordPattern {
  /** Shell pattern. `\` precedes each quoted character, and a leading `~` is the home directory. */
  readonly pattern: string;
  /** True if the shell splits the name of a matching file at whitespace and expands it again. */
  readonly splits: boolean;
}

/**
 * Maximum number of patterns for one word. A word with variables of nested loops has a pattern for each combination of
 * values.
 */
const MAX_PATTERNS = 200;

/** Returns the patterns of the files that a word can name; undefined if only the shell knows them. */
export function patternsOf(word: ShellWord, loops: LoopWords): readonly WordPattern[] | undefined {
  if (word.open === undefined) return [{ pattern: escapePattern(word.text), splits: false }];
  const { pieces } = word;
  if (pieces === undefined || plainText(sourceOf(pieces)) !== plainText(word.text)) return undefined;
  let found: readonly WordPattern[] = [{ pattern: "", splits: false }];
  for (const piece of pieces) {
    const values = typeof piece === "string" ? [{ pattern: piece, splits: false }] : valuesOf(piece, loops);
    if (values === undefined || values.length * found.length > MAX_PATTERNS) return undefined;
    found = found.flatMap((before) =>
      values.map((value) => ({ pattern: before.pattern + value.pattern, splits: before.splits || value.splits })),
    );
  }
  return found;
}

function valuesOf(
  { variable, quoted }: Exclude<WordPiece, string>,
  loops: LoopWords,
): readonly WordPattern[] | undefined {
  const values = loops
    .get(variable)
    ?.map((word) => (word.variables === undefined ? patternsOf(word, loops) : undefined));
  if (values === undefined || values.includes(undefined)) return undefined;
  const known = values.flatMap((each) => each ?? []);
  // The value may be used in the middle of a word, where `~` is not the home directory.
  if (known.some(({ pattern }) => pattern.startsWith("~"))) return undefined;
  if (quoted) return known;
  const isSplit = known.some(({ pattern }) => /[\s*?[\\]/.test(unescapePattern(pattern)) && !hasGlob(pattern));
  return isSplit ? undefined : known.map(({ pattern }) => ({ pattern, splits: hasGlob(pattern) }));
}

/** Returns a pattern that matches only the given text. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[\\*?[~]/g, "\\$&");
}

export function unescapePattern(pattern: string): string {
  return pattern.replaceAll(/\\(.)/gs, "$1");
}

/** Returns the path that a pattern without globs names. */
export function pathOf(pattern: string): string {
  const text = unescapePattern(pattern);
  return pattern.startsWith("\\~") ? `./${text}` : text;
}

export function hasGlob(pattern: string): boolean {
  return /[*?[]/.test(pattern.replaceAll(/\\./gs, ""));
}

/** Returns the source text of a word's pieces, to detect words that were shortened after they were read. */
function sourceOf(pieces: readonly WordPiece[]): string {
  return pieces.map((piece) => (typeof piece === "string" ? unescapePattern(piece) : `$${piece.variable}`)).join("");
}

function plainText(text: string): string {
  return text.replaceAll(/\$\{(\w+)\}/g, "$$$1");
}
