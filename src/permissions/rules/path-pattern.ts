/** A compiled gitignore-like pattern. Takes absolute paths without `.` and `..`. */
export type PathMatcher = (absolutePath: string) => boolean;

export interface PathPatternOptions {
  /** The directories that relative patterns start from. */
  readonly roots: readonly string[];
  /** The user's home directory, as spelled and as resolved. */
  readonly homes: readonly string[];
  /** The directory of the rule's file, where patterns with a leading `/` start. */
  readonly source?: string | undefined;
  /**
   * True for deny and ask rules: the pattern matches at any depth, ignores case and covers everything below. False for
   * allow rules: only the literal pattern matches.
   */
  readonly wide: boolean;
}

export function compilePathPattern(pattern: string, options: PathPatternOptions): PathMatcher {
  const fold = options.wide ? foldCase : (text: string) => text;
  const candidates = anchoredPatterns(pattern, options).map((segments) =>
    segments.map((segment) => compileSegment(segment, fold)),
  );
  if (candidates.length === 0) return () => false;
  const read = options.wide ? foldedSegments : plainSegments;
  return (absolutePath) => {
    const path = read(absolutePath);
    return candidates.some((candidate) => matchSegments(candidate, path, options.wide));
  };
}

/**
 * Compiles a glob of the compact form. A glob without `/` matches a base name at any depth: anywhere for deny and ask
 * rules, in the workspace for allow rules. A glob with `/` starts at the workspace.
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

/** Expands `{a,b}.ts` to `a.ts` and `b.ts`. Returns undefined for unclosed braces, ranges and too many alternatives. */
export function expandBraces(glob: string): readonly string[] | undefined {
  if (glob.split("{").length > 64) return undefined;
  let found: readonly string[] = [glob];
  while (found.some((text) => text.includes("{"))) {
    const next: string[] = [];
    for (const text of found) {
      const inner = /\{([^{}]*)\}/.exec(text);
      const [whole, body] = inner ?? [];
      if (inner === null || whole === undefined || body === undefined || /\.\./.test(body)) {
        if (text.includes("{")) return undefined;
        next.push(text);
      } else {
        const rest = text.slice(inner.index + whole.length);
        for (const each of body.split(",")) next.push(text.slice(0, inner.index) + each + rest);
      }
    }
    if (next.length > 256) return undefined;
    found = next;
  }
  return found.some((text) => text.includes("}")) ? undefined : found;
}

/** Returns what is wrong with the pattern; undefined if it is valid. */
export function pathPatternProblem(pattern: string): string | undefined {
  if (pattern.startsWith("!")) return "a pattern can't be negated with `!`; use the opposite kind of rule instead";
  if (/^~[^/]/.test(pattern))
    return "`~name` is not supported; write `~/` for your home directory, or `//` and an absolute path";
  if (/\p{Cc}/u.test(pattern)) return "it contains control characters";
  return undefined;
}

/** Returns the last name, or piece of a name, that identifies the pattern: `.ssh` in `~/.ssh/**`, `.env` in `.env*`. */
export function identifyingName(pattern: string): { readonly name: string; readonly whole: boolean } | undefined {
  for (const segment of splitPath(pattern).reverse()) {
    if (["~", ".", ".."].includes(segment)) continue;
    const pieces = segment.split(/\[[^\]]*\]|[*?]+/).sort((left, right) => right.length - left.length);
    const name = foldCase(pieces[0] ?? "").replaceAll("\\", "");
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
    // If the home directory is unknown, a restriction applies below every directory and an allow rule applies nowhere.
    if (homes.length === 0) return wide ? [["**", ...rest]] : [];
    return homes.map((home) => join(literal(home), rest));
  }
  const rest = [...splitPath(pattern), ...tail];
  const anchored = pattern.startsWith("/") || pattern.startsWith("./") || pattern.startsWith("../");
  const anyDepth = !anchored && (rest.length === 1 || (wide && rest.length === 2 && rest[1] === "**"));
  const own = pattern.startsWith("/") && source !== undefined ? [source] : undefined;
  // An ambiguous restriction applies from every possible start.
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

type Token =
  | { readonly kind: "character"; readonly value: string }
  | { readonly kind: "star" }
  | { readonly kind: "test"; readonly test: (character: string) => boolean };
type CompiledSegment = "**" | string | readonly Token[];

function compileSegment(segment: Segment, fold: (text: string) => string): CompiledSegment {
  if (typeof segment !== "string") return fold(segment.literal);
  if (segment === "**") return "**";
  const text = fold(segment);
  if (!/[*?[\\]/.test(text)) return text;
  const tokens: Token[] = [];
  const characters = [...text];
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index]!;
    if (character === "*") {
      if (tokens.at(-1)?.kind !== "star") tokens.push({ kind: "star" });
    } else if (character === "?") tokens.push({ kind: "test", test: () => true });
    else if (character === "\\" && index + 1 < characters.length) {
      index += 1;
      tokens.push({ kind: "character", value: characters[index]! });
    } else if (character === "[") {
      const end = characters.indexOf("]", index + (/[!^\]]/.test(characters[index + 1] ?? "") ? 3 : 2));
      if (end === -1) tokens.push({ kind: "character", value: "[" });
      else {
        tokens.push({ kind: "test", test: characterClass(characters.slice(index + 1, end)) });
        index = end;
      }
    } else tokens.push({ kind: "character", value: character });
  }
  return tokens;
}

function characterClass(body: readonly string[]): (character: string) => boolean {
  const negated = body[0] === "!" || body[0] === "^";
  const members = negated ? body.slice(1) : body;
  return (character) => {
    let found = false;
    for (let index = 0; index < members.length; index += 1) {
      const low = members[index]!;
      const high = members[index + 1] === "-" ? members[index + 2] : undefined;
      if (high === undefined) found ||= character === low;
      else {
        found ||= character >= low && character <= high;
        index += 2;
      }
    }
    return found !== negated;
  };
}

/**
 * Returns true if the path matches. `**` matches any number of segments. With `below`, a matched directory covers its
 * contents.
 */
function matchSegments(pattern: readonly CompiledSegment[], path: readonly string[], below: boolean): boolean {
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
    } else if (inPath < path.length && wanted !== undefined && matchSegment(wanted, path[inPath]!)) {
      at += 1;
      inPath += 1;
    } else if (star !== -1 && resume < path.length) {
      resume += 1;
      inPath = resume;
      at = star + 1;
    } else return false;
  }
}

/**
 * Returns true if the name matches. Backtracks only to the last star, so the time is bounded by the product of both
 * lengths.
 */
function matchSegment(pattern: string | readonly Token[], name: string): boolean {
  if (typeof pattern === "string") return pattern === name;
  const characters = [...name];
  let at = 0;
  let inName = 0;
  let star = -1;
  let resume = 0;
  while (inName < characters.length) {
    const token = pattern[at];
    if (token?.kind === "star") {
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
  while (pattern[at]?.kind === "star") at += 1;
  return at === pattern.length;
}

function matchToken(token: Token, character: string): boolean {
  if (token.kind === "character") return token.value === character;
  return token.kind === "test" && token.test(character);
}
