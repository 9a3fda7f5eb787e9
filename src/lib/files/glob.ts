import { compileSegment, expandBraces, MAX_PATTERN_LENGTH, matchSegments } from "./segment-pattern.ts";

/**
 * Compiles a matcher for paths with `/` as the separator. A pattern without `/` matches the base name at any depth; a
 * pattern with `/` matches the whole path. `*` also matches names that begin with a dot, because rules protect `.env`
 * files. A leading `!` is a literal character, so that a rule is never inverted. Throws a SyntaxError for a pattern
 * that can't be used.
 */
export function compileGlob(pattern: string): (path: string) => boolean {
  const problem = problemOf(pattern);
  if (problem !== undefined) throw new SyntaxError(problem);
  const alternatives = (expandBraces(pattern) ?? []).map((text) => ({
    segments: segmentsOf(text).map(compileSegment),
    isPath: text.includes("/"),
    isAbsolute: text.startsWith("/"),
  }));
  return (path) => {
    const whole = segmentsOf(path);
    const last = whole.slice(-1);
    return alternatives.some(({ segments, isPath, isAbsolute }) => {
      if (!isPath) return matchSegments(segments, last, { below: false });
      return isAbsolute === path.startsWith("/") && matchSegments(segments, whole, { below: false });
    });
  };
}

function problemOf(pattern: string): string | undefined {
  if (pattern === "") return "A glob pattern must not be empty.";
  if (pattern.length > MAX_PATTERN_LENGTH)
    return `A glob pattern must not be longer than ${MAX_PATTERN_LENGTH} characters.`;
  if (/[@!+*?]\(/.test(pattern))
    return "Patterns such as `!(a|b)` and `@(a|b)` are not supported. Use braces, as in `{a,b}`.";
  if (expandBraces(pattern) === undefined)
    return "The braces in the pattern can't be expanded: one is unmatched, they contain a range such as `{1..3}`, or there are too many alternatives.";
  return undefined;
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "" && segment !== ".");
}
