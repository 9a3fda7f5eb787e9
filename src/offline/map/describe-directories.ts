import { grep, type PlannedCall } from "../jobs/job.ts";
import type { Hit } from "../jobs/results.ts";
import { directoryOf, type Package } from "./find-packages.ts";
import { baseName } from "./languages.ts";
import { isEmptyTalk, isLicense } from "./leading-comment.ts";
import { plainText } from "./read-readme.ts";

/** Returns the purpose of a directory, or an empty string if it is unknown. */
export type DescribeDirectory = (directory: string) => string;

const speakers = "**/{index,mod,lib,__init__,doc,README,readme}.{ts,tsx,js,mjs,rs,py,go,md}";

/** Returns a call that searches for comments that describe the directory of their file. */
export function findDescriptions(path: string): PlannedCall {
  const pattern = '^(//!?|#|/\\*[*!]?| \\*|""")\\s?[A-Z@].*';
  return grep(pattern, { path, glob: speakers, output_mode: "content", head_limit: 250 });
}

/** Returns a call that searches for Go package comments, which may be in any file in the package's directory. */
export function findGoPackages(path: string): PlannedCall {
  return grep("^// (Package|Command) \\w+ .*", { path, glob: "**/*.go", output_mode: "content", head_limit: 100 });
}

/** Describes directories using their manifest, the first comment of their entry point, or their README. */
export function describeDirectories(hits: readonly Hit[], packages: readonly Package[]): DescribeDirectory {
  const found = new Map<string, { readonly text: string; readonly rank: number }>();
  const add = (directory: string, text: string, rank: number) => {
    if (rank < (found.get(directory)?.rank ?? Number.POSITIVE_INFINITY)) found.set(directory, { text, rank });
  };
  for (const { path, manifest } of packages) if (manifest.description) add(path, manifest.description.detail, 0);
  for (const [path, lines] of byPath(hits)) {
    const text = descriptionIn(lines);
    const directory = directoryOf(path);
    if (text === undefined || sameName(text, directory)) continue;
    const rank = /^readme/i.test(baseName(path)) ? 2 : 1;
    add(directory, text, rank);
    // A package's entry point is often one directory below the package.
    if (/\/(src|lib)$/.test(directory) && packages.some((one) => one.path === directoryOf(directory)))
      add(directoryOf(directory), text, rank + 2);
  }
  return (directory) => found.get(directory)?.text ?? "";
}

function byPath(hits: readonly Hit[]): ReadonlyMap<string, readonly Hit[]> {
  const groups = new Map<string, Hit[]>();
  for (const hit of hits) groups.set(hit.path, [...(groups.get(hit.path) ?? []), hit]);
  return groups;
}

/** Last line on which a description may begin. A comment further down belongs to the code below it. */
const lastFirstLine = 3;
const longestLicense = 25;

/** Returns the heading of a README, or the first comment in a source file, which may follow a license. */
function descriptionIn(hits: readonly Hit[]): string | undefined {
  let last = lastFirstLine;
  for (const { path, line, text } of hits) {
    const plain = commentText(text);
    if (/\.md$/i.test(path)) return plainText(plain);
    if (isGoPackage(text)) return plain;
    if (isLicense(plain)) last = line + longestLicense;
    else if (line > last || /^@(?!file)/.test(plain)) return undefined;
    // A comment on the second line follows code, unless a comment or a license precedes it.
    else if (line > 1 && /^(\/\/|#)/.test(text) && last === lastFirstLine) return undefined;
    else if (!isEmptyTalk(plain)) return plain.replace(/^@file\w*\s*/, "");
  }
  return undefined;
}

function isGoPackage(text: string): boolean {
  return /^\/\/ (Package|Command) /.test(text);
}

function commentText(text: string): string {
  return text.replace(/^(\/\/!?|#+|\/\*[*!]?| \*|""")\s*/, "").replace(/(?<!\s)\s*(\*\/|""")\s*$/, "");
}

/** Returns true if a heading repeats the name of its directory: "Core" or "@scope/core" for packages/core. */
function sameName(text: string, directory: string): boolean {
  const letters = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
  return letters(text.split("/").at(-1) ?? "") === letters(baseName(directory)) || text === "";
}
