export interface Language {
  readonly name: string;
  /** True if files in this language have functions and types. */
  readonly isCode: boolean;
  /** Name of the file type in Grep; undefined if Grep has none. */
  readonly type?: string | undefined;
}

export function languageOf(path: string): Language | undefined {
  const name = baseName(path);
  const byName = names.get(name.toLowerCase());
  if (byName !== undefined) return byName;
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? undefined : extensions.get(name.slice(dot + 1).toLowerCase());
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function isTest(path: string): boolean {
  if (!languageOf(path)?.isCode) return false;
  return isNamedAsTest(path) || (testDirectory.test(path) && !supportDirectory.test(path) && !isData(path));
}

/**
 * Returns the files that are tests. If some files in a language have names that mark them as tests, only these count;
 * the other files of that language in test directories are considered helpers.
 */
export function testsAmong<File extends { readonly path: string }>(files: readonly File[]): readonly File[] {
  const languages = (all: readonly File[]) => all.map(({ path }) => languageOf(path)?.name);
  const tests = files.filter(({ path }) => isTest(path));
  const named = new Set(languages(tests.filter(({ path }) => isNamedAsTest(path))));
  return tests.filter(({ path }) => isNamedAsTest(path) || !named.has(languageOf(path)?.name));
}

const testDirectory = /(^|\/)(?:[\w-]+\.)*(tests?|__tests__|specs?|e2e)\//i;
const supportDirectory = /(^|\/)(fixtures|support|helpers)\//;

function isNamedAsTest(path: string): boolean {
  return /\.(test|spec)\.\w+$|_test\.\w+$|^test_.*\.py$|_spec\.rb$|(Test|Tests|Spec)\.(java|kt|cs|scala|swift|php)$/.test(
    baseName(path),
  );
}

function isData(path: string): boolean {
  return /\.(css|scss|sass|less|sql|proto|graphql|gql)$/.test(path);
}

/** Glob for the file names that `isTest` recognizes in any directory. */
export const testNames =
  "**/{*.{test,spec}.*,*_test.*,test_*.py,*_spec.rb,*{Test,Tests,Spec}.{java,kt,cs,scala,swift,php}}";

/** Directories with third-party code and build output. */
export const foreignDirectories: readonly string[] = [
  "node_modules",
  "vendor",
  "third_party",
  "bower_components",
  ".venv",
  "venv",
  "__pycache__",
  ".tox",
  ".mypy_cache",
  ".pytest_cache",
  "site-packages",
  "dist",
  "target",
  ".next",
  ".gradle",
  ".git",
  ".hg",
  ".svn",
  ".jj",
];

const table: readonly (readonly [string, string, ("code" | "text")?, string?])[] = [
  ["TypeScript", "ts tsx mts cts", "code", "ts"],
  ["JavaScript", "js jsx mjs cjs", "code", "js"],
  ["Vue", "vue", "code"],
  ["Svelte", "svelte", "code"],
  ["Python", "py pyi", "code", "py"],
  ["Rust", "rs", "code", "rust"],
  ["Go", "go", "code", "go"],
  ["Java", "java", "code", "java"],
  ["Kotlin", "kt kts", "code"],
  ["Scala", "scala sc", "code"],
  ["C", "c h", "code", "c"],
  ["C++", "cpp cc cxx hpp hh hxx", "code", "cpp"],
  ["C#", "cs", "code"],
  ["F#", "fs fsx", "code"],
  ["Ruby", "rb rake", "code", "ruby"],
  ["PHP", "php", "code", "php"],
  ["Swift", "swift", "code"],
  ["Objective-C", "m mm", "code"],
  ["Dart", "dart", "code"],
  ["Elixir", "ex exs", "code"],
  ["Erlang", "erl hrl", "code"],
  ["Haskell", "hs", "code"],
  ["OCaml", "ml mli", "code"],
  ["Clojure", "clj cljs cljc", "code"],
  ["Lua", "lua", "code"],
  ["Perl", "pl pm", "code"],
  ["R", "r", "code"],
  ["Julia", "jl", "code"],
  ["Zig", "zig", "code"],
  ["Shell", "sh bash zsh fish", "code", "sh"],
  ["PowerShell", "ps1 psm1", "code"],
  ["SQL", "sql", "code"],
  ["Terraform", "tf", "code"],
  ["Protocol Buffers", "proto", "code"],
  ["GraphQL", "graphql gql", "code"],
  ["CSS", "css scss sass less", "code", "css"],
  ["HTML", "html htm", "text", "html"],
  ["Markdown", "md markdown mdx", "text", "md"],
  ["reStructuredText", "rst", "text"],
  ["plain text", "txt", "text"],
  ["JSON", "json jsonc jsonl json5", "text", "json"],
  ["YAML", "yaml yml", "text", "yaml"],
  ["TOML", "toml", "text"],
  ["XML", "xml svg xsd", "text"],
  ["CSV", "csv tsv", "text"],
  ["notebook", "ipynb", "text"],
];

const extensions = new Map<string, Language>();
for (const [name, endings, kind, type] of table) {
  const language = { name, isCode: kind === "code", type };
  for (const ending of endings.split(" ")) extensions.set(ending, language);
}

const names = new Map<string, Language>([
  ["makefile", { name: "Makefile", isCode: false }],
  ["dockerfile", { name: "Dockerfile", isCode: false }],
  ["rakefile", { name: "Ruby", isCode: true }],
  ["gemfile", { name: "Ruby", isCode: true }],
]);
