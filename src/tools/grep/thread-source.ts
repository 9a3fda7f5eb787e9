import type { Hit, SearchRequest } from "./search-request.ts";

type Files = typeof import("node:fs");

export interface ThreadJob {
  readonly request: SearchRequest;
  readonly maxHits: number;
  readonly maxLineLength: number;
}

export type ThreadMessage =
  | { readonly type: "hits"; readonly hits: Hit[] }
  | { readonly type: "done" }
  | { readonly type: "failed"; readonly message: string };

interface Rule {
  readonly base: string;
  readonly expression: RegExp;
  readonly negated: boolean;
  readonly directoriesOnly: boolean;
}

interface Entry {
  readonly path: string;
  readonly isDirectory: boolean;
}

// The source text of these functions is what runs in the thread: they may use each other and nothing else from here.

function runJob(
  { request, maxHits, maxLineLength }: ThreadJob,
  files: Files,
  post: (message: ThreadMessage) => void,
): void {
  let batch: Hit[] = [];
  let total = 0;
  const emit = (path: string, found: Partial<Hit>): boolean => {
    batch.push({ path, line: 0, text: "", matched: true, count: 1, ...found });
    total += 1;
    if (batch.length >= 500) {
      post({ type: "hits", hits: batch });
      batch = [];
    }
    return total < maxHits;
  };
  const paths = request.file === undefined ? walk(request, files) : [request.file];
  if (request.mode === "list") listNewestFirst(paths, { request, files, emit });
  else searchPaths(paths, { request, files, emit, maxLineLength });
  post({ type: "hits", hits: batch });
  post({ type: "done" });
}

interface Work {
  readonly request: SearchRequest;
  readonly files: Files;
  readonly emit: (path: string, found: Partial<Hit>) => boolean;
}

function listNewestFirst(paths: Iterable<string>, { request, files, emit }: Work): void {
  const dated: { path: string; time: number }[] = [];
  for (const path of paths) {
    const stat = files.lstatSync(`${request.directory}/${path}`, { throwIfNoEntry: false });
    if (stat) dated.push({ path, time: stat.mtimeMs });
  }
  dated.sort((left, right) => right.time - left.time);
  for (const { path } of dated) if (!emit(path, {})) return;
}

function searchPaths(
  paths: Iterable<string>,
  { request, files, emit, maxLineLength }: Work & { maxLineLength: number },
): void {
  const expression = compile(request);
  for (const path of paths) {
    const text = readText(`${request.directory}/${path}`, files);
    if (text === undefined) continue;
    const lines = text.split("\n");
    if (text.endsWith("\n")) lines.pop();
    const matched = request.multiline ? linesOfMatches(text, expression) : lines.map((line) => expression.test(line));
    const count = matched.reduce((sum, each) => sum + (each ? 1 : 0), 0);
    if (count === 0) continue;
    if (request.mode !== "content") {
      if (!emit(path, { count })) return;
      continue;
    }
    for (let index = 0; index < lines.length; index++) {
      const from = Math.max(0, index - request.after);
      const near = matched[index] || matched.slice(from, index + request.before + 1).some(Boolean);
      if (!near) continue;
      const line = (lines[index] ?? "").replace(/\r$/, "");
      const shown =
        line.length > maxLineLength ? `${line.slice(0, maxLineLength)} [... omitted end of long line]` : line;
      if (!emit(path, { line: index + 1, text: shown, matched: matched[index] ?? false })) return;
    }
  }
}

function compile({ pattern, ignoreCase, multiline }: SearchRequest): RegExp {
  const inline = /^\(\?([ims]+)\)/.exec(pattern);
  const given = inline?.[1] ?? "";
  const flags = new Set([...given, ...(ignoreCase ? "i" : ""), ...(multiline ? "gms" : "")]);
  const body = pattern.slice(inline?.[0].length ?? 0);
  try {
    return new RegExp(body, `${[...flags].join("")}u`);
  } catch {
    return new RegExp(body, [...flags].join(""));
  }
}

function linesOfMatches(text: string, expression: RegExp): boolean[] {
  const matched: boolean[] = [];
  let line = 0;
  let position = 0;
  for (const match of text.matchAll(expression)) {
    for (; position < match.index; position++) if (text[position] === "\n") line += 1;
    const height = match[0].replace(/\n$/, "").split("\n").length;
    for (let offset = 0; offset < height; offset++) matched[line + offset] = true;
  }
  return Array.from(matched, Boolean);
}

function readText(path: string, files: Files): string | undefined {
  try {
    const stat = files.lstatSync(path);
    if (!stat.isFile() || stat.size > 20_000_000) return undefined;
    const bytes = files.readFileSync(path);
    return bytes.subarray(0, 8_192).includes(0) ? undefined : bytes.toString();
  } catch {
    return undefined;
  }
}

function* walk(request: SearchRequest, files: Files): Generator<string> {
  const { directory, glob, type } = request;
  const wanted = glob === undefined ? undefined : toRule(glob, directory);
  const kinds = type === undefined ? undefined : extensionsOf(type);
  const pending: { relative: string; rules: readonly Rule[] }[] = [
    { relative: "", rules: rulesAbove(directory, files) },
  ];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const absolute = next.relative === "" ? directory : `${directory}/${next.relative}`;
    const rules = [...next.rules, ...rulesIn(absolute, files)];
    const inner: typeof pending = [];
    for (const entry of entriesOf(absolute, files)) {
      const path = `${absolute}/${entry.path}`;
      const relative = next.relative === "" ? entry.path : `${next.relative}/${entry.path}`;
      if (isIgnored({ path, isDirectory: entry.isDirectory }, rules)) continue;
      if (entry.isDirectory) inner.push({ relative, rules });
      else if (wanted && wanted.expression.test(relative) === wanted.negated) continue;
      else if (!kinds || kinds.some((extension) => relative.endsWith(extension))) yield relative;
    }
    pending.push(...inner.reverse());
  }
}

function entriesOf(directory: string, files: Files): Entry[] {
  try {
    return files
      .readdirSync(directory, { withFileTypes: true })
      .filter((each) => each.isFile() || (each.isDirectory() && ![".git", ".hg", ".svn", ".jj"].includes(each.name)))
      .map((each) => ({ path: each.name, isDirectory: each.isDirectory() }))
      .sort((left, right) => (left.path < right.path ? -1 : 1));
  } catch {
    return [];
  }
}

/** Rules of the directories above, up to the root of the repository. */
function rulesAbove(directory: string, files: Files): Rule[] {
  const above: Rule[][] = [];
  let current = directory;
  while (!files.existsSync(`${current}/.git`)) {
    const parent = current.slice(0, current.lastIndexOf("/"));
    if (parent === "") return [];
    current = parent;
    above.unshift(rulesIn(current, files));
  }
  return above.flat();
}

function rulesIn(directory: string, files: Files): Rule[] {
  const rules: Rule[] = [];
  for (const name of [".gitignore", ".ignore"]) {
    const text = readText(`${directory}/${name}`, files) ?? "";
    for (const line of text.split(/\r?\n/)) {
      const pattern = line.replace(/(?<!\\)\s+$/, "");
      if (pattern !== "" && !pattern.startsWith("#")) rules.push(toRule(pattern, directory));
    }
  }
  return rules;
}

function isIgnored(entry: Entry, rules: readonly Rule[]): boolean {
  for (let index = rules.length - 1; index >= 0; index--) {
    const rule = rules[index];
    if (!rule || (rule.directoriesOnly && !entry.isDirectory)) continue;
    if (rule.expression.test(entry.path.slice(rule.base.length + 1))) return !rule.negated;
  }
  return false;
}

function toRule(pattern: string, base: string): Rule {
  const negated = pattern.startsWith("!");
  const positive = negated ? pattern.slice(1) : pattern;
  const directoriesOnly = positive.endsWith("/");
  const body = directoriesOnly ? positive.slice(0, -1) : positive;
  const anchored = body.includes("/");
  const source = toExpression(body.replace(/^\//, ""));
  return { base, negated, directoriesOnly, expression: new RegExp(`^${anchored ? "" : "(?:.*/)?"}${source}$`, "s") };
}

function toExpression(glob: string): string {
  let depth = 0;
  const parts = glob.match(/\*\*\/|\/\*\*$|\*+|\?|\[[^\]]+\]|\\.|./gs) ?? [];
  const sources = parts.map((part) => {
    if (part === "**/") return "(?:.*/)?";
    if (part === "/**") return "/.*";
    if (part.startsWith("*")) return part === "**" && glob === "**" ? ".*" : "[^/]*";
    if (part === "?") return "[^/]";
    if (part.startsWith("[") && part.length > 2) return part.replace(/^\[!/, "[^");
    if (part === "{") {
      depth += 1;
      return "(?:";
    }
    if (part === "}" && depth > 0) {
      depth -= 1;
      return ")";
    }
    if (part === "," && depth > 0) return "|";
    return part.replace(/^\\/, "").replace(/[.+^${}()|[\]\\/]/g, "\\$&");
  });
  return sources.join("") + ")".repeat(depth);
}

function extensionsOf(type: string): string[] {
  const families: Readonly<Record<string, string>> = {
    c: "c h",
    cpp: "cpp cc cxx hpp hh hxx h",
    css: "css scss",
    go: "go",
    html: "html htm",
    java: "java",
    js: "js jsx mjs cjs vue",
    json: "json",
    md: "md markdown mdx",
    php: "php",
    py: "py pyi",
    ruby: "rb",
    rust: "rs",
    sh: "sh bash zsh",
    ts: "ts tsx mts cts",
    yaml: "yaml yml",
  };
  const known = families[type];
  if (known === undefined)
    throw new Error(`unrecognized file type: ${type}. Use \`glob\` instead, for example "*.${type}".`);
  return known.split(" ").map((extension) => `.${extension}`);
}

const parts = [
  runJob,
  listNewestFirst,
  searchPaths,
  compile,
  linesOfMatches,
  readText,
  walk,
  entriesOf,
  rulesAbove,
  rulesIn,
  isIgnored,
  toRule,
  toExpression,
  extensionsOf,
];

export const threadSource = `
const { parentPort, workerData } = require("node:worker_threads");
// Some TypeScript runners wrap functions in this to keep their names.
const __name = (value) => value;
${parts.map(String).join("\n")}
try {
  ${runJob.name}(workerData, require("node:fs"), (message) => parentPort.postMessage(message));
} catch (error) {
  parentPort.postMessage({ type: "failed", message: error.message });
}
`;
