import { plural } from "../../lib/index.ts";
import { clip, rows, type Section } from "../jobs/report.ts";
import type { Hit } from "../jobs/results.ts";
import type { MapFindings } from "./map-findings.ts";
import type { Directory, Survey } from "./survey-files.ts";

const maxRows = 12;

export function layoutLines({ path, top, survey, nested, entryPoints, parts }: MapFindings): string[] {
  const { directories, total } = survey;
  const prefix = path === "." ? 0 : path.length + 1;
  const lines = directoryLines(directories, entryPoints);
  const others = directories
    .filter(({ files, path: name }) => files === 0 && !name.slice(prefix).startsWith("."))
    .map((directory) => `${directory.path.slice(prefix)}/`);
  if (others.length > 0) lines.push(`- not counted (empty, binary, or beyond the list): ${clip(others.join(", "))}`);
  if (top.files.length > 0)
    lines.push(`- files at the top: ${clip(top.files.map(({ name }) => name).join(", "), 200)}`);
  if (nested.paths.length > 0)
    lines.push(
      `- ${plural(nested.paths.length + nested.left, "manifest")} below: ${clip(nested.paths.join(", "), 160)}`,
    );
  const explored = parts.filter(({ report }) => report.kind === "whole").map(({ directory }) => directory.path);
  if (explored.length > 0) lines.push(`- explored by an agent each: ${explored.join(", ")}`);
  lines.push(totalLine(total));
  return lines;
}

/** Lists the inside of a directory that contains most of the files. */
export function innerSection({ survey, entryPoints, parts }: MapFindings): Section | undefined {
  const largest = [...survey.directories].sort((left, right) => right.files - left.files)[0];
  if (parts.some(({ directory, report }) => directory === largest && report.kind === "whole")) return undefined;
  const inner = survey.inner.filter(({ exact }) => exact);
  if (!largest || inner.length < 2 || largest.files * 2 < survey.total.files) return undefined;
  const lines = directoryLines(inner, entryPoints);
  const left = largest.inside.length - inner.length;
  if (left > 0) lines.push(`- and ${left} more, not counted one by one`);
  return { heading: `Inside ${largest.path}`, lines };
}

export function directoryLines(
  directories: readonly Directory[],
  entryPoints: readonly Hit[],
  most = maxRows,
): string[] {
  const sorted = directories
    .filter(({ files }) => files > 0)
    .sort((left, right) => right.files - left.files || (left.path < right.path ? -1 : 1));
  const lines = rows(
    sorted.map((directory) => [
      `${directory.path}/`,
      `${directory.exact ? "" : "at least "}${plural(directory.files, "file")}`,
      amountOfLines(directory.lines),
      describeDirectory(directory, entryPoints) || clip(directory.inside.join(", "), 90),
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

/** Returns the first comment of the directory's entry point. */
function describeDirectory({ path }: Directory, entryPoints: readonly Hit[]): string {
  const own = entryPoints.filter((hit) => hit.line <= 3 && hit.path.slice(0, hit.path.lastIndexOf("/")) === path);
  const hit = own.sort((left, right) => left.line - right.line)[0];
  return hit ? clip(commentText(hit), 90) : "";
}

export function commentText({ text }: Hit): string {
  return text.replace(/^(\/\/!?|#+|\/\*\*?|""")\s*/, "").replace(/\s*(\*\/|""")$/, "");
}

function totalLine({ files, lines }: Survey["total"]): string {
  if (lines === 0) return `- in all ${plural(files, "file")}; lines were not counted`;
  return `- in all ${plural(files, "text file")} with ${plural(lines, "line")}; empty, binary and ignored files are not counted`;
}

/** Returns an empty text if lines could not be counted. */
export function amountOfLines(lines: number): string {
  return lines === 0 ? "" : plural(lines, "line");
}
