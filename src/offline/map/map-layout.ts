import { formatCount, plural } from "../../lib/index.ts";
import { clip, rows, type Section } from "../jobs/report.ts";
import type { DescribeDirectory } from "./describe-directories.ts";
import { directoryOf } from "./find-packages.ts";
import type { MapFindings } from "./map-findings.ts";
import { type Directory, joinPath, type Survey } from "./survey-files.ts";

const maxRows = 12;

export function layoutLines({ path, top, survey, describe }: MapFindings): string[] {
  const { directories, unsearched } = survey;
  const prefix = path === "." ? 0 : path.length + 1;
  const lines = directoryLines(directories, describe);
  const others = directories
    .filter(({ files, path: name }) => files === 0 && !name.slice(prefix).startsWith("."))
    .filter(({ path: name }) => !unsearched.some((each) => each === name || each.startsWith(`${name}/`)))
    .map((directory) => `${directory.path.slice(prefix)}/`);
  if (others.length > 0) lines.push(`- without text files: ${clip(others.join(", "))}`);
  if (top.files.length > 0)
    lines.push(`- files at the top: ${clip(top.files.map(({ name }) => name).join(", "), 200)}`);
  lines.push(totalLine(survey));
  return lines;
}

/**
 * Lists the packages of a monorepo: path, name, size and description. Returns nothing if all packages are at the top
 * level, because the layout describes them.
 */
export function packageLines({ path: top, packages, otherPackages, survey, describe }: MapFindings): string[] {
  if (packages.every(({ path }) => directoryOf(path) === top)) return [];
  const lines = rows(
    packages.map(({ path, manifest }) => {
      const files = survey.files.filter((file) => file.path.startsWith(`${path}/`)).length;
      const size = survey.complete ? [plural(files, "file")] : [];
      return [`${path}/`, manifest.title ?? "", ...size, clip(describe(path), 90)];
    }),
  );
  if (otherPackages.length > 0)
    lines.push(`- and ${formatCount(otherPackages.length)} more: ${clip(otherPackages.join(", "), 160)}`);
  return lines;
}

/**
 * Lists the contents of a directory that contains most of the files, unless agents or the list of packages describe the
 * directory.
 */
export function innerSection({ survey, describe, parts, packages }: MapFindings): Section | undefined {
  const largest = [...survey.directories].sort((left, right) => right.files - left.files)[0];
  if (!largest || largest.files * 2 < survey.total.files) return undefined;
  const isDescribed = (path: string) =>
    parts.some(({ directory, report }) => directory.path === path && report.kind === "whole") ||
    packages.some((one) => one.path === path);
  const inner = survey.inner.filter(({ exact, path }) => exact && !isDescribed(path));
  if (inner.length < 2 || isDescribed(largest.path)) return undefined;
  const lines = directoryLines(inner, describe);
  const left = largest.inside.filter((name) => !isDescribed(joinPath(largest.path, name))).length - inner.length;
  if (left > 0) lines.push(`- and ${left} more, not counted individually`);
  return { heading: `Inside ${largest.path}`, lines };
}

export function directoryLines(
  directories: readonly Directory[],
  describe: DescribeDirectory,
  most = maxRows,
): string[] {
  const sorted = directories
    .filter(({ files }) => files > 0)
    .sort((left, right) => right.files - left.files || (left.path < right.path ? -1 : 1));
  const lines = rows(
    sorted.map(({ path, files, lines: sum, inside, exact }) => [
      `${path}/`,
      `${exact ? "" : "at least "}${plural(files, "file")}`,
      amountOfLines(sum),
      clip(describe(path) || inside.join(", "), 90),
    ]),
  );
  const left = lines.length - most;
  return left <= 0 ? lines : [...lines.slice(0, most), `- and ${left} more: ${clip(pathsAfter(sorted, most), 160)}`];
}

function pathsAfter(directories: readonly Directory[], count: number): string {
  return directories
    .slice(count)
    .map(({ path, files }) => `${path}/ (${files})`)
    .join(", ");
}

function totalLine({ total, complete, files, unsearched }: Survey): string {
  if (total.lines === 0) return `- total: ${plural(total.files, "file")}; lines were not counted`;
  const unread = unsearched.length === 0 ? "" : "; not all files could be read";
  const seen = complete ? "" : `; the lists of files below cover only ${formatCount(files.length)} of them`;
  return `- total: ${plural(total.files, "text file")}, ${plural(total.lines, "line")}${seen}${unread}`;
}

/** Formats a number of lines. Returns an empty string if lines could not be counted. */
export function amountOfLines(lines: number): string {
  return lines === 0 ? "" : plural(lines, "line");
}
