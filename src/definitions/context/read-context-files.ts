import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { formatBytes, isWithin } from "../../lib/index.ts";
import { type ContextFile, type Diagnostic, withoutRuntimeTag } from "../../protocol/index.ts";
import { type ProjectLevels, realPath } from "../sources/project-levels.ts";
import { readBounded, versionOf } from "../sources/read-bounded.ts";

export interface ContextRequest {
  readonly home: string;
  readonly stateHome: string;
  /** Directories of the project. If there are none, only the user's own file is read. */
  readonly levels: ProjectLevels;
  /** Limit in bytes for all files together. */
  readonly maxBytes?: number | undefined;
  /** Files from the previous snapshot. They replace files that exist but are currently empty or unreadable. */
  readonly previous?: readonly ContextFile[] | undefined;
}

export interface ContextFiles {
  readonly files: readonly ContextFile[];
  readonly diagnostics: readonly Diagnostic[];
}

const maxImportDepth = 5;
const defaultMaxBytes = 128 * 1024;

/**
 * Reads the user's own file, then AGENTS.md and CLAUDE.md from the root down to the working directory. Imported files
 * follow the file that names them. Each file is used only once, and so is content that two files share, because one of
 * AGENTS.md and CLAUDE.md is often a link to the other, or a copy of it.
 */
export function readContextFiles(request: ContextRequest): ContextFiles {
  const reading = startReading(request);
  const userFile = userFiles(request).find((file) => existsSync(file));
  if (userFile !== undefined) reading.add({ file: userFile, source: "user", stack: [] });
  for (const level of [...request.levels.nearestFirst].reverse()) {
    for (const name of ["AGENTS.md", "CLAUDE.md"]) {
      reading.add({ file: join(level, name), source: "project", stack: [] });
    }
  }
  return { files: reading.files, diagnostics: reading.diagnostics };
}

/** Returns the candidates for the user's own file. The first one that exists is used. */
function userFiles({ home, stateHome }: { home: string; stateHome: string }): string[] {
  return [join(stateHome, "AGENTS.md"), join(home, ".agents", "AGENTS.md"), join(home, ".claude", "CLAUDE.md")];
}

interface FileRequest {
  readonly file: string;
  readonly source: "user" | "project";
  /** Files that led to this import, outermost first. */
  readonly stack: readonly string[];
  readonly at?: { readonly file: string; readonly found: Import };
}

interface ReadProblem {
  readonly code: string;
  readonly message: string;
}

interface Content {
  readonly target: string;
  readonly bytes: Uint8Array;
  readonly complete: boolean;
}

function startReading({ home, stateHome, levels, maxBytes = defaultMaxBytes, previous = [] }: ContextRequest) {
  const files: ContextFile[] = [];
  const diagnostics: Diagnostic[] = [];
  const seen = new Set<string>();
  const roots = { home: realPath(home), stateHome: realPath(stateHome), levels };
  const tooLarge = `context files are limited to ${formatBytes(maxBytes)} in total.`;
  let left = maxBytes;
  return { files, diagnostics, add };

  function add(request: FileRequest): void {
    const result = read(request);
    if (result === undefined) return;
    if ("code" in result) report(request, result);
    else keep(request, result);
  }

  function read({ file, source, stack, at }: FileRequest): ReadProblem | Content | undefined {
    const target = realPath(file);
    if (stack.includes(target))
      return { code: "import_cycle", message: "It imports itself, directly or indirectly; it is read only once." };
    if (seen.has(target)) return undefined;
    if (stack.length > maxImportDepth) return { code: "import_too_deep", message: tooDeep };
    const refusal = whyRefused({ target, source, imported: at !== undefined }, roots);
    if (refusal !== undefined) return { code: "context_outside", message: refusal };
    const content = readBounded(target, Math.max(left, 0));
    if ("problem" in content) {
      if (!content.missing) return { code: "context_unreadable", message: `It can't be read: ${content.problem}` };
      return at && { code: "import_missing", message: "There is no such file." };
    }
    if (content.bytes.includes(0)) return { code: "context_not_text", message: "It is not a text file." };
    seen.add(target);
    return { target, ...content };
  }

  function keep(request: FileRequest, { target, bytes, complete }: Content): void {
    const { file, source, stack, at } = request;
    const version = versionOf(bytes);
    if (!complete) {
      report(request, { code: "context_too_large", message: `${bytes.length > 0 ? "Cut" : "Omitted"}: ${tooLarge}` });
    }
    // Editors leave a file empty for a moment while saving it.
    if (bytes.length === 0 && complete) keepLast(request);
    if (bytes.length === 0 || seen.has(version)) return;
    seen.add(version);
    left -= bytes.length;
    const whole = decode(bytes);
    const text = complete ? whole : `${whole}\n[Cut here: ${tooLarge}]`;
    if (text.trim() !== "") files.push({ file, source, importedBy: at?.file, text, version });
    for (const found of findImports(whole)) {
      const next = importPath(found.path, { from: dirname(target), home: roots.home });
      add({ file: next, source, stack: [...stack, target], at: { file, found } });
    }
  }

  function keepLast({ file }: FileRequest): void {
    const last = previous.find((each) => each.file === file);
    if (last === undefined || seen.has(last.version)) return;
    seen.add(last.version);
    files.push(last);
  }

  function report(request: FileRequest, { code, message }: ReadProblem): void {
    const { file, at } = request;
    if (code === "context_unreadable" || code === "context_not_text") keepLast(request);
    // An `@name` that does not look like a path is usually a person or a package.
    if (code === "import_missing" && at && !at.found.surelyPath) return;
    diagnostics.push({
      severity: "warning",
      file: at?.file ?? file,
      line: at?.found.line ?? 1,
      code,
      message: at ? `@${at.found.path}: ${message}` : message,
    });
  }
}

const tooDeep = `Imports more than ${maxImportDepth} levels deep are not read.`;

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(/\r\n?/g, "\n");
}

function importPath(path: string, { from, home }: { from: string; home: string }): string {
  if (path.startsWith("~/")) return join(home, path.slice(2));
  return isAbsolute(path) ? path : resolve(from, path);
}

/**
 * Explains why a file must not be read; undefined if it may be read. From the home directory, a project can import only
 * Markdown and text files, and none in hidden directories other than `.agents`, `.claude` and `.retinue`, so that a
 * repository can't bring keys and tokens into a conversation.
 */
function whyRefused(
  { target, source, imported }: { target: string; source: "user" | "project"; imported: boolean },
  { home, stateHome, levels }: { home: string; stateHome: string; levels: ProjectLevels },
): string | undefined {
  const { root, untrustedRoot } = levels;
  if (source === "project" && root !== "" && isWithin(target, root)) return undefined;
  if (source === "project" && untrustedRoot !== undefined && isWithin(target, untrustedRoot)) {
    return `It belongs to the project but is outside ${root}, the only part of the project that you trust.`;
  }
  if (source === "user" && (isWithin(target, home) || isWithin(target, stateHome))) return undefined;
  if (!imported || !isWithin(target, home)) return "It is outside the project and your home directory.";
  const [first = "", ...rest] = relative(home, target).split(sep);
  const open = !first.startsWith(".") || [".agents", ".claude", ".retinue"].includes(first);
  const hidden = !open || rest.some((part) => part.startsWith("."));
  if (!hidden && /\.(md|markdown|txt)$/i.test(target)) return undefined;
  return "A project's file may import only Markdown and text files from your home directory, and none from hidden directories.";
}

interface Import {
  /** Path as written after the `@`. */
  readonly path: string;
  /** Line number, starting at 1. */
  readonly line: number;
  /** False if the path could also be the name of a person or a package. */
  readonly surelyPath: boolean;
}

/** Finds `@path` at the start of a word, outside of code blocks and code spans. */
export function findImports(text: string): Import[] {
  const found: Import[] = [];
  let fence: string | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== undefined) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined;
      continue;
    }
    if (mark !== undefined) {
      fence = mark;
      continue;
    }
    if (/^(?: {4}|\t)/.test(line)) continue;
    for (const path of pathsIn(line)) found.push({ path, line: index + 1, surelyPath: isSurelyPath(path) });
  }
  return found;
}

function pathsIn(line: string): string[] {
  const plain = line.replace(/(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/g, (span) => " ".repeat(span.length));
  const paths: string[] = [];
  for (const [, written = ""] of plain.matchAll(/(?<=^|[\s([])@([^\s@`"'<>()[\]]+)/g)) {
    const path = written.replace(/(?<![.,;:!?])[.,;:!?]+$/, "");
    if (path !== "") paths.push(path);
  }
  return paths;
}

function isSurelyPath(path: string): boolean {
  return /^(\.{0,2}\/|~\/)/.test(path) || /\.(md|markdown|txt|mdc)$/i.test(path);
}

/**
 * Formats context files for a prompt. The same files always produce the same bytes. Returns undefined if there are no
 * files.
 */
export function contextText(files: readonly ContextFile[]): string | undefined {
  if (files.length === 0) return undefined;
  return withoutRuntimeTag(files.map((file) => `${heading(file)}\n\n${file.text.trim()}\n`).join("\n"));
}

function heading({ file, source, importedBy }: ContextFile): string {
  if (importedBy !== undefined) return `Contents of ${file} (imported by ${importedBy}):`;
  return `Contents of ${file} (${source === "user" ? "the user's own instructions" : "the project's instructions"}):`;
}
