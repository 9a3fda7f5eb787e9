import { formatCount } from "../../lib/index.ts";
import type { CallResult, Report } from "./job.ts";
import { unsearchedIn } from "./results.ts";

export const howToUseAModel =
  "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or use a local one: --provider ollama --model NAME";

/** Composes a report from a title and the sections that are not empty. */
export function compose(title: string, sections: readonly (Section | undefined)[]): string {
  const parts = sections
    .filter((section) => section !== undefined && section.lines.length > 0)
    .map((section) => `## ${section?.heading}\n${section?.lines.join("\n")}`);
  return `${[`# ${title}`, ...parts].join("\n\n")}\n`;
}

/** Reports that the job could not be done. The calls that failed are listed below the title. */
export function failure(title: string): Report {
  return { kind: "refusal", text: compose(title, []) };
}

export interface Section {
  readonly heading: string;
  readonly lines: readonly string[];
}

/** Aligns list items in columns. */
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

/** Puts text on one line and truncates it to a given length. */
export function clip(text: string, length = 110): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length - 1).trimEnd()}…` : line;
}

/** Returns the first lines, followed by the number of lines that were left out. */
export function firstOf(lines: readonly string[], count: number): string[] {
  const left = lines.length - count;
  return left <= 0 ? [...lines] : [...lines.slice(0, count), `- and ${formatCount(left)} more`];
}

/** Lists the calls that failed, and the files and directories that searches could not read. */
export function unseenSection(failed: readonly CallResult[], succeeded: readonly CallResult[]): string {
  const lines = [
    ...failed.map(({ call, text }) => `- ${nameOf(call)}: ${clip(text, 300)}`),
    ...succeeded.flatMap(({ text }) => unsearchedIn(text).map((entry) => `- ${entry}`)),
  ];
  if (lines.length === 0) return "";
  return `\n## What I could not see\n${firstOf([...new Set(lines)], 8).join("\n")}\n`;
}

function nameOf({ name, input }: CallResult["call"]): string {
  const subject = input["command"] ?? input["file_path"] ?? input["path"] ?? input["pattern"] ?? input["description"];
  return subject === undefined ? name : `${name} ${String(subject)}`;
}
