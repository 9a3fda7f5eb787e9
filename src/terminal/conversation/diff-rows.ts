import { type Row, type Span, type Style, span } from "../screen/row.ts";
import { cleanLines, cutRow } from "../screen/text.ts";
import { highlight } from "./highlight.ts";

export interface DiffOptions {
  readonly columns: number;
  /** Path of the changed file. Its extension determines the language. */
  readonly path: string;
  /** Maximum number of rows. */
  readonly max: number;
}

interface Marked {
  readonly mark: string;
  /** Line number in the new file, or in the old one if the line was removed. */
  readonly number: number;
  readonly text: string;
}

/** Returns the rows of a unified diff, with line numbers, removed and added lines, and highlighted code. */
export function diffRows(diff: string, { columns, path, max }: DiffOptions): readonly Row[] {
  const lines = markedLines(diff);
  const width = String(Math.max(0, ...lines.map(({ number }) => number))).length;
  const language = path.split(".").at(-1) ?? "";
  const shown = lines.slice(0, max);
  const rows = shown.map(({ mark, number, text }): Row => {
    if (mark === "@") return [span(`    ${" ".repeat(width)} ⋮`, "dim")];
    const style: Style | undefined = mark === "+" ? "added" : mark === "-" ? "removed" : undefined;
    const code: readonly Span[] =
      mark === " "
        ? (highlight(text, language)[0] ?? []).map((each) => ({ ...each, style: "dim" as const }))
        : [span(text, style)];
    const sign = mark === "-" ? "−" : mark;
    return cutRow([span(`    ${String(number).padStart(width)} `, "dim"), span(`${sign} `, style), ...code], columns);
  });
  const hidden = lines.length - shown.length;
  return hidden > 0 ? [...rows, [span(`    … ${hidden} more lines`, "dim")]] : rows;
}

function markedLines(diff: string): readonly Marked[] {
  const lines: Marked[] = [];
  let [before, after] = [0, 0];
  for (const line of cleanLines(diff.replace(/\n$/, ""))) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (hunk !== null) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      if (lines.length > 0) lines.push({ mark: "@", number: 0, text: "" });
      continue;
    }
    const mark = line[0] ?? " ";
    if (mark !== "+" && mark !== "-" && mark !== " ") continue;
    lines.push({ mark, number: mark === "-" ? before : after, text: line.slice(1) });
    if (mark !== "+") before += 1;
    if (mark !== "-") after += 1;
  }
  return lines;
}
