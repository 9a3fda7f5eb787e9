import { joinPattern, workspaceDirectory } from "./directory-changes.ts";
import type { Directories, Redirection } from "./shell-analysis.ts";
import type { ShellWord } from "./shell-word.ts";
import { hasGlob, patternsOf, unescapePattern } from "./word-patterns.ts";

interface OpenedFiles {
  readonly files: readonly Redirection[];
  /** Explains why the effect of the redirection is unknown. */
  readonly obscure?: string | undefined;
}

/** Returns the files that a redirection may open if it runs in one of the directories. */
export function openedFiles(operator: string, target: ShellWord, directories: Directories): OpenedFiles {
  const { text, open } = target;
  if (operator.endsWith("&") && open === undefined && /^(\d+-?|-)$/.test(text)) return { files: [] };
  const kind = operator === "<" || operator === "<&" ? "read" : "write";
  const [named, ...more] = patternsOf(target, new Map()) ?? [];
  const pattern = more.length > 0 || text === "" || /[{}]/.test(text) ? undefined : named?.pattern;
  if (pattern === undefined || hasGlob(pattern)) return { files: [{ kind, path: undefined }] };
  if (/^\/dev\/(tcp|udp)\//.test(text)) return { files: [], obscure: "a redirection opens a network connection" };
  if (harmlessDevice.test(text)) return { files: [] };
  const places = /^[/~]/.test(pattern) ? workspaceDirectory : directories;
  return { files: (places ?? [undefined]).map((directory) => fileIn(directory, kind, pattern)) };
}

const harmlessDevice = /^\/dev\/(null|stdin|stdout|stderr|fd\/\d+)$/;

/** Returns the path of a file in a directory. The file and the directory are given as patterns. */
function fileIn(directory: string | undefined, kind: Redirection["kind"], pattern: string): Redirection {
  if (directory === undefined || hasGlob(directory)) return { kind, path: undefined };
  const whole = joinPattern(directory, pattern);
  const path = whole.startsWith("\\~") ? `./${unescapePattern(whole)}` : unescapePattern(whole);
  // Whether `link/..` leaves the workspace depends on the link.
  return { kind, path, pattern: /(^|\/)\.\.(\/|$)/.test(path) ? whole : undefined };
}
