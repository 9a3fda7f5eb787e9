import {
  type CallResult,
  callAll,
  callTools,
  glob,
  grep,
  list,
  type PlannedCall,
  resultText,
  type Step,
} from "../jobs/job.ts";
import { type Counts, type FileCount, type Listing, parseCounts, parseListing, parsePaths } from "../jobs/results.ts";
import { baseName, foreignDirectories, languageOf, testNames } from "./languages.ts";

export interface Amount {
  readonly files: number;
  readonly lines: number;
}

export interface Survey {
  /** All listed files, with their line counts. */
  readonly files: readonly FileCount[];
  readonly total: Amount;
  /** False if the list of files is incomplete. Even then, the numbers in the fields below cover all files. */
  readonly complete: boolean;
  /** Paths that could not be read. Files under these paths are not counted. */
  readonly unsearched: readonly string[];
  /** Number of files that are tests, judging by their names. Set only if the list of files is incomplete. */
  readonly tests?: number | undefined;
  readonly languages: readonly (Amount & { readonly name: string })[];
  readonly directories: readonly Directory[];
  /** Subdirectories of the largest directory. */
  readonly inner: readonly Directory[];
}

export interface Directory extends Amount {
  readonly path: string;
  readonly inside: readonly string[];
  /** False if the directory may contain more files. */
  readonly exact: boolean;
}

const maxDirectories = 8;
const maxSplit = 2;
const maxInner = 10;
const maxTypes = 5;

/** Excludes third-party code and build output from a search, in addition to .gitignore. */
export const foreignGlob = `!**/{${foreignDirectories.join(",")}}/**`;

/** Counts the lines in each file under a directory. Empty and binary files are not listed. */
export function countLines(path: string, more: { readonly type?: string; readonly head_limit?: number } = {}) {
  return grep("^", { path, glob: foreignGlob, output_mode: "count", head_limit: 5_000, ...more });
}

/** Lists the newest files and returns the total number of files. Used if lines can't be counted. */
export function* countByNames(path: string): Generator<Step, Counts, readonly CallResult[]> {
  const { names } = yield* callTools("Listing the files by name", { names: glob("**/*", path) });
  const { paths, left } = parsePaths(resultText(names));
  const files = paths.filter(isOwn).map((name) => ({ path: name, count: 0 }));
  return { files, totalFiles: files.length + left, totalLines: 0, left: 0, unsearched: [] };
}

export function isOwn(path: string): boolean {
  return !path.split("/").some((part) => foreignDirectories.includes(part));
}

/**
 * Surveys files with a single count of all files or, if that list was truncated, with counts by directory and by
 * language.
 */
export function* surveyFiles(
  first: Counts,
  options: {
    readonly path: string;
    readonly top: Listing;
    readonly isIgnored: (name: string) => boolean;
    /** Maximum number of directories that are counted individually. */
    readonly maxCounted?: number;
    /** Returns true if agents will explore the directories, in which case large ones need not be split. */
    readonly isDelegated?: (known: Pick<Survey, "files" | "directories">) => boolean;
  },
): Generator<Step, Survey, readonly CallResult[]> {
  const { path, top, isIgnored, maxCounted = maxDirectories, isDelegated = () => false } = options;
  const known = new Map(first.files.map((file) => [file.path, file.count]));
  const counted = new Map<string, Amount & { readonly inside: readonly string[] }>();
  const wanted = top.directories
    .filter((name) => !foreignDirectories.includes(name) && !isIgnored(name))
    .sort((left, right) => Number(left.startsWith(".")) - Number(right.startsWith(".")))
    .map((name) => joinPath(path, name));
  let types: readonly Amounts[] = [];
  let tests: number | undefined;
  if (first.left > 0) {
    const directories = wanted.slice(0, maxCounted);
    const cut = yield* count(directories, { known, counted, text: "Counting lines by directory" });
    const found = filesIn(known);
    const soFar = {
      files: found,
      directories: directoriesOf(found, { path, counted, complete: false, others: wanted }),
    };
    const split = isDelegated(soFar) ? [] : cut.slice(0, maxSplit);
    const kinds = typesIn(known.keys()).slice(0, maxTypes);
    const [named, ...results] = yield* callAll("Counting lines by language", [
      glob(testNames, path),
      ...split.map((directory) => list(directory)),
      ...kinds.map(({ type }): PlannedCall => countLines(path, { type, head_limit: 1 })),
    ]);
    types = kinds
      .flatMap(({ name }, index) => amountsOf(name, results[split.length + index]))
      .sort((left, right) => right.files - left.files);
    tests = countPaths(named);
    const inner = split.flatMap((directory, index) => innerOf(directory, results[index]));
    for (const [index, directory] of split.entries()) describeInside(counted, directory, results[index]);
    yield* count(inner.slice(0, maxInner), { known, counted, text: "Counting lines in the largest directories" });
  }
  const files = filesIn(known);
  const complete = files.length >= first.totalFiles;
  const directories = directoriesOf(files, { path, counted, complete, others: wanted });
  const largest = [...directories].sort((left, right) => right.files - left.files)[0];
  return {
    files,
    total: { files: first.totalFiles, lines: first.totalLines },
    complete,
    unsearched: first.unsearched,
    tests: complete ? undefined : tests,
    languages: complete || types.length === 0 ? languagesOf(files) : types,
    directories,
    inner: largest === undefined ? [] : directoriesOf(files, { path: largest.path, counted, complete, others: [] }),
  };
}

function filesIn(known: ReadonlyMap<string, number>): readonly FileCount[] {
  return [...known].map(([path, count]) => ({ path, count }));
}

type Amounts = Amount & { readonly name: string };

interface Counting {
  readonly known: Map<string, number>;
  readonly counted: Map<string, Amount & { readonly inside: readonly string[] }>;
  readonly text: string;
}

/** Counts the files in each directory. Returns the directories whose list was truncated, largest first. */
function* count(
  directories: readonly string[],
  { known, counted, text }: Counting,
): Generator<Step, readonly string[], readonly CallResult[]> {
  const results = yield* callAll(
    text,
    directories.map((directory) => countLines(directory)),
  );
  const cut: { directory: string; files: number }[] = [];
  for (const [index, directory] of directories.entries()) {
    const result = results[index];
    if (!result?.ok) continue;
    const counts = parseCounts(result.text);
    for (const file of counts.files) known.set(file.path, file.count);
    const inside = insideOf(
      directory,
      counts.files.map((file) => file.path),
    );
    counted.set(directory, { files: counts.totalFiles, lines: counts.totalLines, inside });
    if (counts.left > 0) cut.push({ directory, files: counts.totalFiles });
  }
  return cut.sort((left, right) => right.files - left.files).map(({ directory }) => directory);
}

function typesIn(paths: Iterable<string>): { name: string; type: string }[] {
  const found = new Map<string, { name: string; type: string; files: number }>();
  for (const path of paths) {
    const language = languageOf(path);
    if (language?.type === undefined) continue;
    const entry = found.get(language.name) ?? { name: language.name, type: language.type, files: 0 };
    entry.files += 1;
    found.set(language.name, entry);
  }
  return [...found.values()].sort((left, right) => right.files - left.files);
}

function amountsOf(name: string, results: CallResult | undefined): Amounts[] {
  if (!results?.ok) return [];
  const { totalFiles, totalLines } = parseCounts(results.text);
  return totalFiles === 0 ? [] : [{ name, files: totalFiles, lines: totalLines }];
}

function countPaths(results: CallResult | undefined): number | undefined {
  if (!results?.ok) return undefined;
  const { paths, left } = parsePaths(results.text);
  return paths.length + left;
}

function innerOf(directory: string, results: CallResult | undefined): string[] {
  if (!results?.ok) return [];
  return parseListing(results.text)
    .directories.filter((name) => !foreignDirectories.includes(name))
    .map((name) => joinPath(directory, name));
}

/** Replaces the entries of a directory whose file list was truncated with those from a directory listing. */
function describeInside(counted: Counting["counted"], directory: string, results: CallResult | undefined): void {
  const amount = counted.get(directory);
  if (!amount || !results?.ok) return;
  const { directories, files } = parseListing(results.text);
  counted.set(directory, { ...amount, inside: directories.length > 0 ? directories : files.map(({ name }) => name) });
}

function languagesOf(files: readonly FileCount[]): Amounts[] {
  const found = new Map<string, { files: number; lines: number }>();
  for (const { path, count: lines } of files) {
    const name = languageOf(path)?.name ?? "other";
    const amount = found.get(name) ?? { files: 0, lines: 0 };
    found.set(name, { files: amount.files + 1, lines: amount.lines + lines });
  }
  return [...found]
    .map(([name, amount]) => ({ name, ...amount }))
    .sort((left, right) => right.files - left.files || (left.name < right.name ? -1 : 1));
}

interface DirectoryOptions extends Pick<Counting, "counted"> {
  readonly path: string;
  readonly complete: boolean;
  /** Directories to list even if they contain no files. */
  readonly others: readonly string[];
}

function directoriesOf(
  files: readonly FileCount[],
  { path, counted, complete, others }: DirectoryOptions,
): readonly Directory[] {
  const byDirectory = new Map<string, FileCount[]>(others.map((name) => [name, []]));
  for (const file of files) {
    const top = topOf(path, file.path);
    if (top === undefined) continue;
    const group = byDirectory.get(top);
    if (group) group.push(file);
    else byDirectory.set(top, [file]);
  }
  return [...byDirectory].map(([directory, group]) => {
    const lines = group.reduce((sum, file) => sum + file.count, 0);
    const inside = insideOf(
      directory,
      group.map((file) => file.path),
    );
    const exact = complete || counted.has(directory);
    return { path: directory, files: group.length, lines, inside, exact, ...counted.get(directory) };
  });
}

/** Describes a directory whose files are all known. */
export function directoryAt(path: string, files: readonly FileCount[]): Directory {
  const group = files.filter((file) => file.path.startsWith(`${path}/`));
  const lines = group.reduce((sum, file) => sum + file.count, 0);
  const inside = insideOf(
    path,
    group.map((file) => file.path),
  );
  return { path, files: group.length, lines, inside, exact: true };
}

/** Returns the subdirectories of a directory, or its files if it has none. */
function insideOf(directory: string, paths: readonly string[]): string[] {
  const below = paths.map((path) => path.slice(directory.length + 1));
  const directories = below.flatMap((path) => (path.includes("/") ? [path.slice(0, path.indexOf("/"))] : []));
  return [...new Set(directories.length > 0 ? directories : below.map(baseName))];
}

/** Returns the directory directly below `path` that contains the file, or undefined for files in `path` itself. */
function topOf(path: string, file: string): string | undefined {
  if (path !== "." && !file.startsWith(`${path}/`)) return undefined;
  const below = path === "." ? file : file.slice(path.length + 1);
  const slash = below.indexOf("/");
  return slash < 0 ? undefined : joinPath(path, below.slice(0, slash));
}

export function joinPath(directory: string, name: string): string {
  return directory === "." ? name : `${directory}/${name}`;
}
