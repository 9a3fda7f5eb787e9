import { plural } from "../../lib/index.ts";
import { clip, firstOf, type Section } from "../jobs/report.ts";
import type { Part } from "./delegate-parts.ts";
import type { Directory } from "./survey-files.ts";

/** Maximum number of lines from a report that does not have the expected form. */
const maxForeign = 20;

/** Returns one section for each part. If a report is missing or partial, its section says so. */
export function partSections(parts: readonly Part[]): Section[] {
  return parts.map((part) => ({ heading: `Part ${part.directory.path}`, lines: linesOf(part) }));
}

function linesOf({ directory, report }: Part): string[] {
  // The sentences after the first are advice for a model.
  const [why = ""] = report.kind === "none" ? report.why.split(/(?<=\.) /) : [];
  if (report.kind === "none") return [`- not explored: ${clip(why, 300)}`, outsideLine(directory)];
  const cut = report.kind === "partial" ? [`- incomplete: ${report.why}`, outsideLine(directory)] : [];
  const sections = sectionsOf(report.text);
  if (!shown.some(({ heading }) => sections.has(heading))) return [...cut, ...foreignLines(report.text)];
  return [...cut, ...shown.flatMap(({ heading, label }) => labelled(sections.get(heading) ?? [], label))];
}

/** Describes a directory that no agent explored. */
function outsideLine({ files, lines, inside, exact }: Directory): string {
  const amount = `${exact ? "" : "at least "}${plural(files, "file")}, ${plural(lines, "line")}`;
  return `- contains ${amount}: ${clip(inside.join(", "), 200)}`;
}

/**
 * Sections of an agent's report, in the order in which the map shows them. A label precedes lines that are not clear on
 * their own.
 */
const shown: readonly { readonly heading: string; readonly label?: string }[] = [
  { heading: "What it is" },
  { heading: "Tests", label: "tests" },
  { heading: "Directories" },
  { heading: "Key files" },
  { heading: "Entry points", label: "entry points" },
  { heading: "What I could not see", label: "not seen" },
];

function labelled(lines: readonly string[], label: string | undefined): string[] {
  return label === undefined ? [...lines] : lines.map((line) => line.replace(/^- (by name: )?/, `- ${label}: `));
}

function sectionsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const sections = new Map<string, string[]>();
  let lines: string[] | undefined;
  for (const line of text.split("\n")) {
    const heading = /^## (.+)$/.exec(line)?.[1];
    if (heading !== undefined) {
      lines = sections.get(heading) ?? [];
      sections.set(heading, lines);
    } else if (line.startsWith("- ")) lines?.push(line);
  }
  return sections;
}

/** Returns the lines of a report without its headings, which would become sections of the map. */
function foreignLines(text: string): string[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return firstOf(
    lines.map((line) => `- ${clip(line.replace(/^(#+|[-*])\s+/, ""), 200)}`),
    maxForeign,
  );
}
