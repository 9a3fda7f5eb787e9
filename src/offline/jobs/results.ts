// Parses the text of tool results. Skips lines in an unexpected format, because a result may contain notes.

export interface Listing {
  readonly directories: readonly string[];
  readonly files: readonly { readonly name: string; readonly size: string }[];
  /** Number of entries that were not shown. */
  readonly left: number;
}

export function parseListing(text: string): Listing {
  const directories: string[] = [];
  const files: { name: string; size: string }[] = [];
  for (const line of linesOf(text)) {
    if (isNote(line)) continue;
    if (line.endsWith("/")) directories.push(line.slice(0, -1));
    else {
      const match = /^(.*?)(?: (\d[\d.]* (?:B|KB|MB|GB|TB)))?$/.exec(line.replace(/@$/, ""));
      if (match?.[1]) files.push({ name: match[1], size: match[2] ?? "" });
    }
  }
  return { directories, files, left: leftOut(text) };
}

/** Parses one path per line. */
export function parsePaths(text: string): { readonly paths: readonly string[]; readonly left: number } {
  if (/^No (files|matches) found\.(\n|$)/.test(text)) return { paths: [], left: 0 };
  return { paths: linesOf(text).filter((line) => !isNote(line)), left: leftOut(text) };
}

export interface FileCount {
  readonly path: string;
  readonly count: number;
}

export interface Counts {
  readonly files: readonly FileCount[];
  readonly totalLines: number;
  readonly totalFiles: number;
  readonly left: number;
  /** Paths that could not be read. The list may be incomplete. */
  readonly unsearched: readonly string[];
}

export function parseCounts(text: string): Counts {
  const files: FileCount[] = [];
  let totals: RegExpExecArray | null = null;
  for (const line of linesOf(text)) {
    const match = /^(.+):(\d+)$/.exec(line);
    if (match?.[1]) files.push({ path: match[1], count: Number(match[2]) });
    else totals = /^([\d,]+) matching lines? in ([\d,]+) files?/.exec(line) ?? totals;
  }
  const sum = files.reduce((total, { count }) => total + count, 0);
  return {
    files,
    totalLines: totals ? toNumber(totals[1]) : sum,
    totalFiles: totals ? toNumber(totals[2]) : files.length,
    left: leftOut(text),
    unsearched: unsearchedIn(text).map((entry) => entry.replace(/ \([^)]*\)$/, "")),
  };
}

export interface Hit {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** Parses matching lines, which are grouped by path with an empty line between groups. */
export function parseHits(text: string): { readonly hits: readonly Hit[]; readonly left: number } {
  const hits: Hit[] = [];
  let path: string | undefined;
  if (text.startsWith("No matches found.")) return { hits, left: 0 };
  for (const line of text.split("\n")) {
    if (line === "") path = undefined;
    else if (path === undefined) path = line;
    else {
      const match = /^(\d+):(.*)$/.exec(line);
      if (match) hits.push({ path, line: Number(match[1]), text: match[2] ?? "" });
    }
  }
  return { hits, left: leftOut(text) };
}

export interface Page {
  readonly lines: readonly { readonly number: number; readonly text: string }[];
  /** Total number of lines; undefined if more lines follow and their number is unknown. */
  readonly total: number | undefined;
}

export function parsePage(text: string): Page {
  const lines: { number: number; text: string }[] = [];
  for (const line of text.split("\n")) {
    const match = /^(\d+)\t(.*)$/s.exec(line);
    if (match) lines.push({ number: Number(match[1]), text: match[2] ?? "" });
  }
  const note = /\[Lines \d+-\d+(?: of (\d+)|; more follow)/.exec(text.slice(text.lastIndexOf("\n") + 1));
  if (note) return { lines, total: note[1] === undefined ? undefined : Number(note[1]) };
  return { lines, total: lines.at(-1)?.number ?? 0 };
}

/** Returns the text of a page without line numbers. */
export function pageText(page: Page): string {
  return page.lines.map(({ text }) => text).join("\n");
}

/** Returns the paths that a search could not read, each with the reason, such as `src/a.ts (Permission denied)`. */
export function unsearchedIn(text: string): readonly string[] {
  const list = /^\[Results are incomplete\. Could not search: (.*)\.\]$/m.exec(text)?.[1];
  return list === undefined ? [] : list.split(/(?<=\)), |(?<=\)) (?=and [\d,]+ more$)/);
}

function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}

/** Returns true for a note that a tool added. Notes are in brackets. */
function isNote(line: string): boolean {
  return line.startsWith("[") && line.endsWith("]");
}

function leftOut(text: string): number {
  const note = /^\[(?:at least )?([\d,]+) (?:older|more)(?: files?| lines?)? not shown/m.exec(text);
  return note ? toNumber(note[1]) : 0;
}

function toNumber(digits: string | undefined): number {
  return Number((digits ?? "0").replaceAll(",", ""));
}
