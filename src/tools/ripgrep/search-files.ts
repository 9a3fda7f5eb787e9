import { randomBytes } from "node:crypto";
import { describeError } from "../../lib/index.ts";
import type { RunningProcess, Workspace } from "../../ports/index.ts";
import { findRipgrep } from "./find-ripgrep.ts";
import { createRecordSplitter } from "./record-splitter.ts";
import { createMessageReader, parseFileError, type Unsearched, unwanted } from "./unsearched.ts";

/** Searches the given text, or all files except those that `.gitignore` ignores. Never rejects. */
export type SearchFiles = (request: SearchRequest, listener: SearchListener) => Promise<SearchEnd>;

export interface SearchRequest {
  /** Absolute path of the directory to search; patterns in `glob` are relative to it. */
  readonly directory: string;
  /** Restricts the search to this file within the directory. */
  readonly file?: string | undefined;
  /** Text to search instead of files. Its hits have the path `<stdin>`. */
  readonly input?: AsyncIterable<Uint8Array> | undefined;
  /**
   * What to report: matching lines (`content`), paths with a match (`files`), the number of matching lines for each
   * path (`count`), or all paths, newest first (`list`).
   */
  readonly mode: "content" | "files" | "count" | "list";
  readonly pattern: string;
  readonly ignoreCase: boolean;
  readonly multiline: boolean;
  readonly before: number;
  readonly after: number;
  readonly glob?: string | undefined;
  readonly type?: string | undefined;
}

export interface SearchListener {
  /** Returns false to stop the search. */
  readonly onHit: (hit: Hit) => boolean;
  /** Called for each file or directory that could not be read. Hits from other files are still valid. */
  readonly onUnsearched: (unsearched: Unsearched) => void;
  readonly signal: AbortSignal;
}

export interface Hit {
  /** Path relative to the directory of the request. */
  readonly path: string;
  readonly line: number;
  readonly text: string;
  /** False for a context line. */
  readonly matched: boolean;
  readonly count: number;
}

export type SearchEnd = { readonly ok: true } | { readonly ok: false; readonly message: string };

export interface SearchDependencies {
  readonly workspace: Workspace;
  /** Path of ripgrep; looked up on the first search if absent. */
  readonly ripgrep?: string | undefined;
}

/** Creates a search function that runs ripgrep as a process in the workspace. */
export function createSearch({ workspace, ripgrep }: SearchDependencies): SearchFiles {
  let program = ripgrep;
  return async (request, listener) => {
    if (program === undefined) {
      const location = findRipgrep(process.env);
      if ("missing" in location)
        return { ok: false, message: `Can't search without ripgrep: ${location.missing}. ${location.fix}` };
      program = location.program;
    }
    return runRipgrep(request, listener, { workspace, program });
  };
}

async function runRipgrep(
  request: SearchRequest,
  { onHit, onUnsearched, signal }: SearchListener,
  { workspace, program }: { readonly workspace: Workspace; readonly program: string },
): Promise<SearchEnd> {
  let wanted = true;
  let complaint = "";
  const parse = parserFor(request.mode);
  const splitter = createRecordSplitter(request.mode === "content" || request.mode === "count" ? 10 : 0, (record) => {
    const hit = wanted ? parse(record) : undefined;
    if (hit && !onHit(hit)) stop();
  });
  const messages = createMessageReader((message) => {
    const unsearched = parseFileError(message);
    if (unsearched) onUnsearched(unsearched);
    else if (complaint.length < 4_096) complaint += `${message}\n`;
  });
  const process = workspace.spawn({
    command: program,
    args: argumentsOf(request),
    cwd: request.directory,
    tag: `search-${randomBytes(8).toString("hex")}`,
    stdinOpen: request.input !== undefined,
    onOutput(chunk, stream) {
      if (stream === "stdout" && wanted) {
        splitter.push(chunk);
        letOthersRun(process);
      } else if (stream === "stderr") messages.push(chunk);
    },
  });
  const stop = () => {
    if (wanted) void process.end();
    wanted = false;
  };
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const unread = request.input && (await write(request.input, { process, isBounded: request.multiline }));
  const { code, signal: killedBy, failure } = await process.exited;
  signal.removeEventListener("abort", stop);
  if (failure !== undefined) return { ok: false, message: `ripgrep could not be started: ${failure}` };
  if (unread !== undefined) return { ok: false, message: unread };
  if (wanted && code === null)
    return {
      ok: false,
      message: `The search was terminated by ${killedBy} before it finished. Search a smaller directory.`,
    };
  if (wanted) splitter.end();
  messages.end();
  if (wanted && code === 2 && complaint.trim() !== "") return { ok: false, message: explain(complaint, request) };
  return { ok: true };
}

/** Maximum size of text to match across lines. Such a search makes ripgrep read the whole text into memory. */
const maxMultilineMegabytes = 64;

/** Writes text to the input of ripgrep until ripgrep ends. Returns an error message if the text can't be searched. */
async function write(
  text: AsyncIterable<Uint8Array>,
  { process: { input, end }, isBounded }: { readonly process: RunningProcess; readonly isBounded: boolean },
): Promise<string | undefined> {
  let bytes = 0;
  try {
    for await (const chunk of text) {
      bytes += chunk.length;
      if (isBounded && bytes > maxMultilineMegabytes * 1024 * 1024) {
        void end();
        return `The text is larger than ${maxMultilineMegabytes} MB. Search it without \`multiline\`.`;
      }
      if (!(await input?.write(chunk))) break;
    }
    return undefined;
  } catch (error) {
    void end();
    return `The text could not be read: ${describeError(error)}`;
  } finally {
    input?.end();
  }
}

/**
 * Pauses ripgrep between chunks, because it prints faster than we read and would starve everything else in this
 * process.
 */
function letOthersRun(process: RunningProcess): void {
  process.pause();
  setImmediate(() => process.resume());
}

const maxLineLength = 400;
// These characters are unlikely in source code, so a line can be split safely, whatever the name of its file.
const matchMark = "\u0001";
const contextMark = "\u0002";

function argumentsOf(request: SearchRequest): string[] {
  const { mode, file, input } = request;
  const shared = ["--no-config", "--color=never", "--hidden", "--no-require-git", "--no-ignore-messages", "--null"];
  const args = [...shared, ...filtersOf(request)];
  const target = input ? "-" : file === undefined ? "./" : `./${file}`;
  if (mode === "list") return [...args, "--files", "--sortr=modified", "--", target];
  // Command output is searched as text, even if it contains bytes that are not text.
  if (input) args.push("--text");
  if (request.ignoreCase) args.push("--ignore-case");
  if (request.multiline) args.push("--multiline", "--multiline-dotall", `--max-filesize=${maxMultilineMegabytes}M`);
  if (mode === "files") args.push("--files-with-matches");
  if (mode === "count") args.push("--count", "--with-filename");
  if (mode === "content") {
    args.push("--no-heading", "--with-filename", "--line-number", "--no-context-separator");
    args.push(`--field-match-separator=${matchMark}`, `--field-context-separator=${contextMark}`);
    args.push(`--max-columns=${maxLineLength}`, "--max-columns-preview");
    if (request.before > 0) args.push(`--before-context=${request.before}`);
    if (request.after > 0) args.push(`--after-context=${request.after}`);
  }
  return [...args, `--regexp=${request.pattern}`, "--", target];
}

function filtersOf({ glob, type }: SearchRequest): string[] {
  const filters: string[] = [];
  // A glob that matches every file would also include files that .gitignore ignores.
  if (glob !== undefined && !/^\*[*/]*$/.test(glob)) filters.push(`--glob=${glob}`);
  for (const directory of unwanted) filters.push(`--glob=!**/${directory}/**`);
  if (type !== undefined) filters.push(`--type=${type}`);
  return filters;
}

function parserFor(mode: SearchRequest["mode"]): (record: string) => Hit | undefined {
  if (mode === "files" || mode === "list") return (record) => hit(record, {});
  const parse = mode === "count" ? parseCount : parseLine;
  // A file name may contain line breaks. In that case, only the part after the last line break contains a NUL.
  let begun = "";
  return (record) => {
    const end = record.indexOf("\0");
    if (end < 0) {
      begun = isAboutBinary(record) ? "" : `${begun}${record}\n`;
      return undefined;
    }
    const path = begun + record.slice(0, end);
    begun = "";
    return parse(path, record.slice(end + 1));
  };
}

function parseCount(path: string, rest: string): Hit {
  return hit(path, { count: Number(rest) });
}

function parseLine(path: string, rest: string): Hit | undefined {
  const digits = /^\d+/.exec(rest)?.[0] ?? "";
  const mark = rest[digits.length];
  if (digits === "" || (mark !== matchMark && mark !== contextMark)) return undefined;
  const text = rest.slice(digits.length + 1).replace(/\r$/, "");
  return hit(path, { line: Number(digits), text, matched: mark === matchMark });
}

function hit(path: string, found: Partial<Hit>): Hit {
  return { path: path.replace(/^\.\//, ""), line: 0, text: "", matched: true, count: 1, ...found };
}

function isAboutBinary(record: string): boolean {
  return /: (binary file matches|WARNING: stopped searching binary file)/.test(record);
}

function explain(complaint: string, { multiline, type }: SearchRequest): string {
  const words = complaint.trim().replace(/^rg: /gm, "").slice(0, 1_000);
  if (type !== undefined && /unrecognized file type/.test(words))
    return `${words}\nUse \`glob\` instead, for example "*.${type}".`;
  if (!multiline && /\\n|multiline/.test(words)) return `${words}\nSet \`multiline\` to true to match across lines.`;
  if (/regex|look-around|backreference|pcre/i.test(words))
    return `${words}\nEscape literal characters, as in \\( \\{ \\[. Look-around and backreferences are not supported.`;
  return words;
}
