import { type Dirent, lstatSync, readdirSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { errorCode, UserError } from "../lib/index.ts";

export interface MarkdownFile {
  readonly path: string;
  /** As it is told: relative to the directory that was given. */
  readonly file: string;
}

/**
 * A file as it was given, or every Markdown file below a directory in a stable order. What was given may be a link,
 * links below it are not followed; `.git` and `node_modules` hold other people's files and are left out. A directory
 * that can't be listed comes as if it were a file: whoever reads it hears why not.
 */
export function* markdownFiles(given: string, prefix = ""): Generator<MarkdownFile> {
  if (statOf(given).isDirectory()) yield* below(given, prefix);
  else yield { path: given, file: given };
}

function* below(directory: string, told: string): Generator<MarkdownFile> {
  const entries = listed(directory);
  if (entries === undefined) {
    yield { path: directory, file: told === "" ? directory : told };
    return;
  }
  for (const entry of entries) {
    const path = join(directory, entry.name);
    const file = told === "" ? entry.name : `${told}/${entry.name}`;
    const kind = entry.isFile() || entry.isDirectory() ? entry : lookedAt(path);
    if (kind?.isDirectory()) {
      if (entry.name !== ".git" && entry.name !== "node_modules") yield* below(path, file);
    } else if (kind?.isFile() && /\.(md|markdown)$/i.test(entry.name)) yield { path, file };
  }
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
