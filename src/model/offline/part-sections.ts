import { plural } from "../../lib/index.ts";
import type { Part } from "./explore-parts.ts";
import { clip, firstOf, type Section } from "./report.ts";
import type { Directory } from "./survey-files.ts";

/** Lines shown of a report that is not in our form. */
const maxForeign = 20;

/** One section for each part, from its agent's report; what an agent did not do is said. */
export function partSections(parts: readonly Part[]): Section[] {
  return parts.map((part) => ({ heading: `Part ${part.directory.path}`, lines: linesOf(part) }));
}

function linesOf({ directory, report }: Part): string[] {
  if (report.kind === "none") return [`- not explored: ${clip(report.why, 300)}`, outsideLine(directory)];
  const cut = report.kind === "partial" ? [`- not whole: ${report.why}`, outsideLine(directory)] : [];
  const sections = sectionsOf(report.text);
  if (!shown.some(({ heading }) => sections.has(heading))) return [...cut, ...foreignLines(report.text)];
  return [...cut, ...shown.flatMap(({ heading, label }) => labelled(sections.get(heading) ?? [], label))];
}

/** What was seen of it without an agent. */
function outsideLine({ files, lines, inside, exact }: Directory): string {
  const amount = `${exact ? "" : "at least "}${plural(files, "file")}, ${plural(lines, "line")}`;
  return `- from outside: ${amount}: ${clip(inside.join(", "), 200)}`;
}

/** Of a report, in this order. A label stands where a line alone would not say what it is about. */
const shown: readonly { readonly heading: string; readonly label?: string }[] = [
  { heading: "What it is" },
  { heading: "Size", label: "size" },
  { heading: "Tests", label: "tests" },
  { heading: "Directories" },
  { heading: "Key files" },
  { heading: "Entry points", label: "entry" },
  { heading: "What I could not see", label: "not seen" },
];

function labelled(lines: readonly string[], label: string | undefined): string[] {
  return label === undefined ? [...lines] : lines.map((line) => line.replace(/^- /, `- ${label}: `));
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

/** Its own headings would become sections of the map. */
function foreignLines(text: string): string[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return firstOf(
    lines.map((line) => `- ${clip(line.replace(/^(#+|[-*])\s+/, ""), 200)}`),
    maxForeign,
    "line",
  );
}
