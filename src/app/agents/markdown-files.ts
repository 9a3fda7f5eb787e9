import { type Dirent, lstatSync, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { followLink, isWithin, projectLevels } from "../../definitions/index.ts";
import { errorCode, UserError } from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";

export interface MarkdownFile {
  readonly path: string;
  /** As it is told: relative to the directory that was given. */
  readonly file: string;
  /** A link that is not followed. */
  readonly problem?: Diagnostic;
}

/**
 * A file as it was given, or every Markdown file below a directory in a stable order. Links are followed as they are where
 * agents are loaded: within the project, from the user's own directories within home. `.git` and `node_modules` hold other
 * people's files and are left out. What is no file, and a directory that can't be listed, comes as if it were one: whoever
 * reads it hears why not.
 */
export function* markdownFiles(given: string, prefix = ""): Generator<MarkdownFile> {
  if (!statOf(given).isDirectory()) {
    yield { path: given, file: given };
    return;
  }
  const real = realpathSync(given);
  yield* below(given, prefix, { real, scope: scopeOf(real), followed: new Set() });
}

interface Walk {
  /** Of what was given. */
  readonly real: string;
  /** How far links may lead. */
  readonly scope: string;
  /** Each linked folder once, so that a loop of links ends. */
  readonly followed: Set<string>;
}

function* below(directory: string, told: string, walk: Walk): Generator<MarkdownFile> {
  const entries = listed(directory);
  if (entries === undefined) {
    yield { path: directory, file: told === "" ? directory : told };
    return;
  }
  for (const entry of entries) {
    const path = join(directory, entry.name);
    const file = told === "" ? entry.name : `${told}/${entry.name}`;
    const kind = kindOf(entry, { path, walk });
    if (kind === "folder" && !/^skill\.md$/i.test(entry.name)) {
      if (entry.name !== ".git" && entry.name !== "node_modules") yield* below(path, file, walk);
    } else if (kind !== "gone" && /\.(md|markdown)$/i.test(entry.name)) {
      yield typeof kind === "string" ? { path, file } : { path, file, problem: { ...kind, file } };
    }
  }
}

function kindOf(
  entry: Dirent,
  { path, walk }: { readonly path: string; readonly walk: Walk },
): "file" | "folder" | "gone" | Diagnostic {
  // Some file systems do not say what an entry is.
  const known = entry.isFile() || entry.isDirectory() ? entry : lookedAt(path);
  if (known === undefined) return "gone";
  if (!known.isSymbolicLink()) return known.isDirectory() ? "folder" : "file";
  const link = followLink(path, walk.scope);
  if ("problem" in link) return link.problem;
  if (!link.isFolder) return "file";
  if (walk.followed.has(link.target) || isWithin(walk.real, link.target)) return "gone";
  walk.followed.add(link.target);
  return "folder";
}

function scopeOf(real: string): string {
  const home = homedir();
  const isUsers = [".agents", ".claude"].some((name) => isWithin(real, join(home, name)));
  return isUsers ? home : projectLevels({ cwd: real, home }).root;
}

function listed(directory: string): Dirent[] | undefined {
  try {
    return readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return undefined;
  }
}

/** Undefined: removed in this moment. */
function lookedAt(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

function statOf(path: string) {
  try {
    return statSync(path);
  } catch (error) {
    const why = errorCode(error) === "ENOENT" ? "does not exist" : "can't be read";
    throw new UserError(`${path} ${why}`, { code: "path", cure: "Name a file or a directory.", exitCode: 2 });
  }
}
