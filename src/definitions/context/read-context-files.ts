import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { formatBytes } from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";
import { isWithin, type ProjectLevels, realPath } from "../sources/project-levels.ts";
import { readBounded, versionOf } from "../sources/read-bounded.ts";
import { findImports, type Import } from "./find-imports.ts";

export interface ContextFile {
  /** Absolute. */
  readonly file: string;
  readonly source: "user" | "project";
  /** The file that names it by `@path`. */
  readonly importedBy?: string;
  readonly text: string;
  readonly version: string;
}

export interface ContextRequest {
  readonly home: string;
  readonly stateHome: string;
  /** No levels: only the user's own file. */
  readonly levels: ProjectLevels;
  /** Of all files together. */
  readonly maxBytes?: number;
  /** What was read before: one that is there and has nothing to read now counts as it was then. */
  readonly previous?: readonly ContextFile[];
}

export interface ContextFiles {
  readonly files: readonly ContextFile[];
  readonly diagnostics: readonly Diagnostic[];
}

const deepestImport = 5;
const defaultMaxBytes = 128 * 1024;

/**
 * The user's own file, then AGENTS.md and CLAUDE.md from the root down to where the session works; what a file imports
 * stands right behind it. Every file and every text counts once: often one of the two is a link to or a copy of the other.
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

/** The first that exists is the user's. */
export function userFiles({ home, stateHome }: { home: string; stateHome: string }): string[] {
  return [join(stateHome, "AGENTS.md"), join(home, ".agents", "AGENTS.md"), join(home, ".claude", "CLAUDE.md")];
}

interface Wanted {
  readonly file: string;
  readonly source: "user" | "project";
  /** Files that are being read, outermost first. */
  readonly stack: readonly string[];
  readonly at?: { readonly file: string; readonly found: Import };
}

interface Fault {
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
  const tooLarge = `the context files together may have ${formatBytes(maxBytes)}.`;
  let left = maxBytes;
  return { files, diagnostics, add };

  function add(wanted: Wanted): void {
    const looked = look(wanted);
    if (looked === undefined) return;
    if ("code" in looked) report(wanted, looked);
    else keep(wanted, looked);
  }

  function look({ file, source, stack, at }: Wanted): Fault | Content | undefined {
    const target = realPath(file);
    if (stack.includes(target)) return { code: "import_cycle", message: "It imports itself in a circle; read once." };
    if (seen.has(target)) return undefined;
    if (stack.length > deepestImport) return { code: "import_too_deep", message: tooDeep };
    const refusal = whyRefused({ target, source, imported: at !== undefined }, roots);
    if (refusal !== undefined) return { code: "context_outside", message: refusal };
    const read = readBounded(target, Math.max(left, 0));
    if ("problem" in read) {
      if (!read.missing) return { code: "context_unreadable", message: `It can't be read: ${read.problem}` };
      return at && { code: "import_missing", message: "There is no such file." };
    }
    if (read.bytes.includes(0)) return { code: "context_not_text", message: "It is not a text file." };
    seen.add(target);
    return { target, ...read };
  }

  function keep(wanted: Wanted, { target, bytes, complete }: Content): void {
    const { file, source, stack, at } = wanted;
    const version = versionOf(bytes);
    if (!complete) {
      report(wanted, { code: "context_too_large", message: `${bytes.length > 0 ? "Cut" : "Left out"}: ${tooLarge}` });
    }
    // Whoever saves a file leaves it empty for a moment.
    if (bytes.length === 0 && complete) keepLast(wanted);
    if (bytes.length === 0 || seen.has(version)) return;
    seen.add(version);
    left -= bytes.length;
    const whole = decode(bytes);
    const text = complete ? whole : `${whole}\n[Cut here: ${tooLarge}]`;
    if (text.trim() !== "") files.push({ file, source, ...(at ? { importedBy: at.file } : {}), text, version });
    for (const found of findImports(whole)) {
      const next = importPath(found.path, { from: dirname(target), home: roots.home });
      add({ file: next, source, stack: [...stack, target], at: { file, found } });
    }
  }

  function keepLast({ file }: Wanted): void {
    const last = previous.find((each) => each.file === file);
    if (last === undefined || seen.has(last.version)) return;
    seen.add(last.version);
    files.push(last);
  }

  function report(wanted: Wanted, { code, message }: Fault): void {
    const { file, at } = wanted;
    if (code === "context_unreadable" || code === "context_not_text") keepLast(wanted);
    // `@name` without any sign of a path is more often a person or a package than a file.
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

const tooDeep = `Imports more than ${deepestImport} deep are not read.`;

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(/\r\n?/g, "\n");
}

function importPath(path: string, { from, home }: { from: string; home: string }): string {
  if (path.startsWith("~/")) return join(home, path.slice(2));
  return isAbsolute(path) ? path : resolve(from, path);
}

/**
 * A project's file reaches into home only for Markdown and text that is not in a hidden directory, apart from the agents'
 * own: a repository must not get keys and tokens into a conversation.
 */
function whyRefused(
  { target, source, imported }: { target: string; source: "user" | "project"; imported: boolean },
  { home, stateHome, levels }: { home: string; stateHome: string; levels: ProjectLevels },
): string | undefined {
  const { root, untrustedRoot } = levels;
  if (source === "project" && root !== "" && isWithin(target, root)) return undefined;
  if (source === "project" && untrustedRoot !== undefined && isWithin(target, untrustedRoot)) {
    return `It belongs to the project and lies outside ${root}, which is all you trust of it.`;
  }
  if (source === "user" && (isWithin(target, home) || isWithin(target, stateHome))) return undefined;
  if (!imported || !isWithin(target, home)) return "It lies outside the project and your home directory.";
  const [first = "", ...rest] = relative(home, target).split(sep);
  const open = !first.startsWith(".") || [".agents", ".claude", ".retinue"].includes(first);
  const hidden = !open || rest.some((part) => part.startsWith("."));
  if (!hidden && /\.(md|markdown|txt)$/i.test(target)) return undefined;
  return "A project's file may import only Markdown and text from your home directory, none from hidden directories.";
}
