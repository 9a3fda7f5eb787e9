import { plural } from "../../lib/index.ts";
import type { Seen } from "./job.ts";

const introduction =
  "> From Retinue's offline model, not a language model. For one: ANTHROPIC_API_KEY, OPENAI_API_KEY, or a local server (`retinue -p … --provider ollama --model NAME`).";

/** A report: who wrote it, a title, then sections; empty ones are left out. */
export function compose(title: string, sections: readonly (Section | undefined)[]): string {
  return `${introduction}\n\n${composePlain(title, sections)}`;
}

/** The same for another agent, which knows whom it asked. */
export function composePlain(title: string, sections: readonly (Section | undefined)[]): string {
  const parts = sections
    .filter((section) => section !== undefined && section.lines.length > 0)
    .map((section) => `## ${section?.heading}\n${section?.lines.join("\n")}`);
  return `${[`# ${title}`, ...parts].join("\n\n")}\n`;
}

export interface Section {
  readonly heading: string;
  readonly lines: readonly string[];
}

/** List items in columns. Cells are cut where a table would become too wide to read. */
export function rows(cells: readonly (readonly string[])[], { widest = 60 }: { widest?: number } = {}): string[] {
  const columns = Math.max(0, ...cells.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.min(widest, Math.max(0, ...cells.map((row) => row[column]?.length ?? 0))),
  );
  return cells.map((row) => {
    const padded = row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)));
    return `- ${padded.join("  ")}`.trimEnd();
  });
}

/** One line of a file or a commit as a cell. */
export function clip(text: string, length = 110): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length - 1).trimEnd()}…` : line;
}

/** The first few of a list; what is left out is said. */
export function firstOf(lines: readonly string[], count: number, what: string): string[] {
  const left = lines.length - count;
  return left <= 0 ? [...lines] : [...lines.slice(0, count), `- and ${plural(left, `more ${what}`)}`];
}

export function unseenSection(unseen: readonly Seen[]): string {
  if (unseen.length === 0) return "";
  const lines = unseen.map(({ call, text }) => `- ${nameOf(call)}: ${clip(text, 300)}`);
  return `\n## What I could not see\n${firstOf([...new Set(lines)], 8, "failed call").join("\n")}\n`;
}

function nameOf({ name, input }: Seen["call"]): string {
  const subject = input["command"] ?? input["file_path"] ?? input["path"] ?? input["pattern"] ?? input["description"];
  return subject === undefined ? name : `${name} ${String(subject)}`;
}
