import { oneLine } from "../describe-call.ts";
import { displayWidth, fitLine } from "../fit-line.ts";

/** Rows below a head; the last column takes what room is left. `columns` 0: as wide as it gets. */
export function renderTable(rows: readonly (readonly string[])[], columns: number): string {
  const cells = rows.map((row) => row.map(oneLine));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => displayWidth(row[column] ?? ""))));
  const lines = cells.map((row) => {
    const padded = row.map((cell, column) =>
      column === row.length - 1 ? cell : cell + " ".repeat((widths[column] ?? 0) - displayWidth(cell)),
    );
    const line = padded.join("  ").trimEnd();
    return columns > 0 ? fitLine(line, columns) : line;
  });
  return `${lines.join("\n")}\n`;
}
