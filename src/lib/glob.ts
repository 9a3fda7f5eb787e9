import picomatch from "picomatch";

export interface GlobOptions {
  /** Names that begin with a dot match `*` too, since rules protect `.env` files. */
  dot?: boolean;
  nocase?: boolean;
}

/**
 * A matcher for paths written with `/`. A pattern without `/` matches the base name at any depth, one with `/` the whole path.
 * `!` at the start is a plain character: a rule never turns into its opposite. Throws a SyntaxError for a pattern that can't be read.
 */
export function compileGlob(
  pattern: string,
  { dot = true, nocase = false }: GlobOptions = {},
): (path: string) => boolean {
  if (pattern === "") throw new SyntaxError("A glob pattern must not be empty.");
  // Flag s: a newline in a file name must not hide it from `**`.
  const matches = picomatch(literalBang(pattern), { dot, nocase, windows: false, flags: nocase ? "is" : "s" });
  if (pattern.includes("/")) return (path) => matches(withoutDotSlash(path));
  return (path) => matches(baseName(path));
}

/** Left alone: `!(a|b)`, which stands for any name but those. */
function literalBang(pattern: string): string {
  return /^!(?!\()/.test(pattern) ? `\\${pattern}` : pattern;
}

function withoutDotSlash(path: string): string {
  return path.startsWith("./") ? path.slice(2) : path;
}

function baseName(path: string): string {
  const end = path.endsWith("/") ? path.length - 1 : path.length;
  return path.slice(path.lastIndexOf("/", end - 1) + 1, end);
}
