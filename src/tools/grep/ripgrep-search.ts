import type { RunningProcess, Workspace } from "../../ports/index.ts";
import { createRecordSplitter } from "./record-splitter.ts";
import { type Hit, maxLineLength, type SearchFiles, type SearchRequest } from "./search-request.ts";

// Unlikely in source, so that a line is taken apart safely whatever its file is called.
const matchMark = "\u0001";
const contextMark = "\u0002";

/** Searches with ripgrep, as a process of the workspace. */
export function createRipgrepSearch(
  workspace: Workspace,
  { program, tag }: { readonly program: string; readonly tag: () => string },
): SearchFiles {
  return async (request, { onHit, signal }) => {
    let wanted = true;
    let complaint = "";
    const parse = parserFor(request.mode);
    const splitter = createRecordSplitter(request.mode === "content" || request.mode === "count" ? 10 : 0, (record) => {
      const hit = wanted ? parse(record) : undefined;
      if (hit && !onHit(hit)) stop();
    });
    const process = workspace.spawn({
      command: program,
      args: argumentsOf(request),
      cwd: request.directory,
      tag: tag(),
      onOutput(chunk, stream) {
        if (stream === "stdout" && wanted) {
          splitter.push(chunk);
          letOthersRun(process);
        } else if (stream === "stderr" && complaint.length < 4_096) complaint += Buffer.from(chunk).toString();
      },
    });
    const stop = () => {
      if (wanted) void process.end();
      wanted = false;
    };
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const { code, failure } = await process.exited;
    signal.removeEventListener("abort", stop);
    if (failure !== undefined) return { ok: false, message: `ripgrep could not be started: ${failure}` };
    if (wanted) splitter.end();
    // 2 without a word: some file could not be read; what was found still stands.
    if (wanted && code === 2 && complaint.trim() !== "") return { ok: false, message: explain(complaint, request) };
    return { ok: true };
  };
}

/** ripgrep prints faster than we read: without a break between chunks nothing else would get its turn. */
function letOthersRun(process: RunningProcess): void {
  process.pause();
  setImmediate(() => process.resume());
}

function argumentsOf(request: SearchRequest): string[] {
  const { mode, file } = request;
  const shared = ["--no-config", "--color=never", "--hidden", "--no-require-git", "--no-messages", "--null"];
  const args = [...shared, ...filtersOf(request)];
  const target = file === undefined ? "./" : `./${file}`;
  if (mode === "list") return [...args, "--files", "--sortr=modified", "--", target];
  if (request.ignoreCase) args.push("--ignore-case");
  // ripgrep reads whole files into memory to match across lines.
  if (request.multiline) args.push("--multiline", "--multiline-dotall", "--max-filesize=64M");
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
  // A glob that takes everything would also take what .gitignore leaves out.
  if (glob !== undefined && !/^(\*+\/?)+$/.test(glob)) filters.push(`--glob=${glob}`);
  for (const directory of [".git", ".hg", ".svn", ".jj"]) filters.push(`--glob=!**/${directory}/**`);
  if (type !== undefined) filters.push(`--type=${type}`);
  return filters;
}

function parserFor(mode: SearchRequest["mode"]): (record: string) => Hit | undefined {
  if (mode === "files" || mode === "list") return (record) => hit(record, {});
  const parse = mode === "count" ? parseCount : parseLine;
  // A file name may have line breaks in it: then the parts before the last have no NUL.
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
    return `${words}\nEscape characters that are meant literally, such as \\( \\{ \\[ (no look-around, no backreferences).`;
  return words;
}
