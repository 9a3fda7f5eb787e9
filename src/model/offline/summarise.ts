import { ask, glob, type Job, list, type Report, read, type Seen } from "./job.ts";
import { baseName } from "./languages.ts";
import { compose } from "./report.ts";
import { parsePaths } from "./results.ts";
import { summariseDirectory } from "./summarise-directory.ts";
import { summariseFile } from "./summarise-file.ts";

/** A file or a directory, by its path or by its name alone. */
export function* summarise(path: string): Job {
  const first = yield* open(path);
  if (first.ok) return yield* summariseSeen(path, first);
  if (/is (not )?a directory/.test(first.text)) {
    const other = yield* first.call.name === "Read" ? openDirectory(path) : openFile(path);
    return other.ok ? told(yield* summariseSeen(path, other), [first]) : notFound(path);
  }
  const { named, inside } = yield* ask(`${path} is not there: looking for the name elsewhere.`, {
    named: glob(`**/{${baseName(path)},${baseName(path)}.*}`),
    inside: glob(`**/${baseName(path)}/*`),
  });
  const files = pathsIn(named);
  const directories = pathsIn(inside).map((file) => file.slice(0, file.lastIndexOf("/")));
  const found = [...new Set([...directories, ...files])].sort((left, right) => left.length - right.length);
  const best = found[0];
  if (best === undefined) return notFound(path);
  const second = yield* directories.includes(best) ? openDirectory(best) : openFile(best);
  return second.ok ? told(yield* summariseSeen(best, second), [first]) : notFound(path);
}

function notFound(path: string): Report {
  return { kind: "report", text: compose(`${path}: not found`, []) };
}

function* summariseSeen(path: string, seen: Seen): Job {
  return yield* seen.call.name === "LS" ? summariseDirectory(path, seen) : summariseFile(path, seen);
}

function isFileName(path: string): boolean {
  return /\.\w+$/.test(baseName(path)) || /^(README|LICENSE|Makefile|Dockerfile)$/.test(baseName(path));
}

function open(path: string) {
  return isFileName(path) ? openFile(path) : openDirectory(path);
}

function* openFile(path: string) {
  const { page } = yield* ask(`Reading ${path}.`, { page: read(path) });
  return page;
}

function* openDirectory(path: string) {
  const { listing } = yield* ask(`Listing ${path}.`, { listing: list(path) });
  return listing;
}

function pathsIn(seen: Seen): readonly string[] {
  return seen.ok ? parsePaths(seen.text).paths : [];
}

/** Failures on the way that another call made good. */
function told<Done extends { readonly told?: readonly Seen[] }>(report: Done, failures: readonly Seen[]): Done {
  return { ...report, told: [...(report.told ?? []), ...failures] };
}
