import { oneLine } from "../../client/index.ts";
import { displayWidth, fitLine } from "../fit-line.ts";

/** Renders rows as a table. The first row is the header. Lines are cut to `columns` unless that is 0. */
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

export function ago(milliseconds: number): string {
  return milliseconds < 60_000 ? "just now" : `${formatAge(milliseconds)} ago`;
}

/** Formats a time span in the largest unit that fits. */
export function formatAge(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
