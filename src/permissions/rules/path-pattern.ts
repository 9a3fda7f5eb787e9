import {
  compileSegment,
  expandBraces,
  formatCount,
  literalPieces,
  MAX_PATTERN_LENGTH,
  matchSegments,
} from "../../lib/index.ts";

/** A compiled gitignore-like pattern. It is matched against absolute paths without `.` and `..`. */
export type PathMatcher = (absolutePath: string) => boolean;

export interface PathPatternOptions {
  /** The directories that relative patterns start from. */
  readonly roots: readonly string[];
  /** The user's home directory, as written and with symlinks resolved. */
  readonly homes: readonly string[];
  /** The directory of the rule's file, where patterns with a leading `/` start. */
  readonly source?: string | undefined;
  /**
   * True for deny and ask rules: the pattern matches at any depth, ignores case and covers everything below a match.
   * False for allow rules: only the literal pattern matches.
   */
  readonly wide: boolean;
}

export function compilePathPattern(pattern: string, options: PathPatternOptions): PathMatcher {
  const fold = options.wide ? foldCase : (text: string) => text;
  const candidates = anchoredPatterns(pattern, options).map((segments) =>
    segments.map((segment) =>
      typeof segment === "string" ? compileSegment(fold(segment)) : { name: fold(segment.literal) },
    ),
  );
  if (candidates.length === 0) return () => false;
  const read = options.wide ? foldedSegments : plainSegments;
  return (absolutePath) => {
    const path = read(absolutePath);
    return candidates.some((candidate) => matchSegments(candidate, path, { below: options.wide }));
  };
}

/**
 * Compiles a glob from a `permission` field or a `permissions.jsonc` file. A glob without `/` matches a base name at
 * any depth: anywhere for deny and ask rules, in the workspace for allow rules. A glob with `/` is relative to the
 * workspace.
 */
export function compilePathGlob(glob: string, options: PathPatternOptions): PathMatcher {
  const { wide } = options;
  const matchers = (expandBraces(glob) ?? []).map((pattern) =>
    compilePathPattern(wide && !pattern.includes("/") ? `//**/${pattern}` : pattern, options),
  );
  return (absolutePath) => matchers.some((matches) => matches(absolutePath));
}

export function pathGlobProblem(glob: string): string | undefined {
  if (/[@!+*?]\(/.test(glob))
    return "`@(…)`, `!(…)` and similar patterns are not supported; write one line for each name";
  if (expandBraces(glob) === undefined) return "its braces can't be parsed; write one line for each name";
  return undefined;
}

/** Explains what is wrong with the pattern; undefined if the pattern is valid. */
export function pathPatternProblem(pattern: string): string | undefined {
  if (pattern.startsWith("!")) return "a pattern can't be negated with `!`; use the opposite kind of rule instead";
  if (/^~[^/]/.test(pattern))
    return "`~name` is not supported; write `~/` for your home directory, or `//` and an absolute path";
  if (/\p{Cc}/u.test(pattern)) return "it contains control characters";
  if (pattern.length > MAX_PATTERN_LENGTH)
    return `it has more than ${formatCount(MAX_PATTERN_LENGTH)} characters; split it into several rules`;
  return undefined;
}

/** Returns the last name, or part of a name, that identifies the pattern: `.ssh` in `~/.ssh/**`, `.env` in `.env*`. */
export function identifyingName(pattern: string): { readonly name: string; readonly whole: boolean } | undefined {
  for (const segment of splitPath(pattern).reverse()) {
    if (["~", ".", ".."].includes(segment)) continue;
    const pieces = literalPieces(segment).sort((left, right) => right.length - left.length);
    const name = foldCase(pieces[0] ?? "");
    if (name !== "" && (pieces.length === 1 || name.length >= 3)) return { name, whole: pieces.length === 1 };
  }
  return undefined;
}

/** Returns the names that the pattern spells out, such as `.ssh` in `~/.ssh/**`. */
export function literalNames(pattern: string): readonly string[] {
  return splitPath(pattern).filter((segment) => !/[*?[\]]/.test(segment) && !["~", ".", ".."].includes(segment));
}

export function foldCase(text: string): string {
  return text.normalize("NFC").toLowerCase();
}

export function splitPath(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

/** Caches the segments of the last two paths, because each path is matched against many rules in turn. */
function remembering(read: (path: string) => readonly string[]): (path: string) => readonly string[] {
  let last: { readonly path: string; readonly segments: readonly string[] } | undefined;
  let before: typeof last;
  return (path) => {
    if (last?.path === path) return last.segments;
    if (before?.path === path) return before.segments;
    before = last;
    last = { path, segments: read(path) };
    return last.segments;
  };
}

const plainSegments = remembering(splitPath);
const foldedSegments = remembering((path) => splitPath(foldCase(path)));

type Segment = string | { readonly literal: string };

/** Returns the pattern as lists of segments from the root of the file system. */
function anchoredPatterns(pattern: string, { roots, homes, source, wide }: PathPatternOptions): readonly Segment[][] {
  const tail = pattern.endsWith("/") ? ["**"] : [];
  if (pattern.startsWith("//")) return [join([], [...splitPath(pattern), ...tail])];
  if (pattern === "~" || pattern.startsWith("~/")) {
    const rest = [...splitPath(pattern.slice(1)), ...tail];
    // If the home directory is unknown, a restriction applies in every directory and an allow rule applies nowhere.
    if (homes.length === 0) return wide ? [["**", ...rest]] : [];
    return homes.map((home) => join(literal(home), rest));
  }
  const rest = [...splitPath(pattern), ...tail];
  const anchored = pattern.startsWith("/") || pattern.startsWith("./") || pattern.startsWith("../");
  const anyDepth = !anchored && (rest.length === 1 || (wide && rest.length === 2 && rest[1] === "**"));
  const own = pattern.startsWith("/") && source !== undefined ? [source] : undefined;
  // An ambiguous restriction applies from every possible starting directory.
  const starts = wide ? [...roots, ...(own ?? [])] : (own ?? roots.slice(0, 1));
  return starts.map((root) => join(literal(root), anyDepth ? ["**", ...rest] : rest));
}

function literal(path: string): Segment[] {
  return splitPath(path).map((name) => ({ literal: name }));
}

function join(base: readonly Segment[], rest: readonly string[]): Segment[] {
  const segments = [...base];
  for (const segment of rest) {
    if (segment === ".") continue;
    if (segment === "..") segments.pop();
    else segments.push(segment);
  }
  return segments;
}
