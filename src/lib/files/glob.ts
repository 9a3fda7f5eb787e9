import picomatch from "picomatch";

/**
 * Compiles a matcher for paths with `/` as the separator. A pattern without `/` matches the base name at any depth; a
 * pattern with `/` matches the whole path. `*` also matches names that begin with a dot, because rules protect `.env`
 * files. A leading `!` is a literal character, so that a rule is never inverted. Throws a SyntaxError for an empty
 * pattern.
 */
export function compileGlob(pattern: string): (path: string) => boolean {
  if (pattern === "") throw new SyntaxError("A glob pattern must not be empty.");
  // With the flag `s`, `**` also matches file names that contain a newline.
  const matches = picomatch(literalBang(pattern), { dot: true, windows: false, flags: "s" });
  if (pattern.includes("/")) return (path) => matches(withoutDotSlash(path));
  return (path) => matches(baseName(path));
}

/** Escapes a leading `!`, except in `!(a|b)`, which matches all other names. */
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
