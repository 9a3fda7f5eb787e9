import { formatCount, plural } from "../../lib/index.ts";

export interface Lines {
  readonly lines: readonly string[];
  /** Number of the first line. */
  readonly first: number;
  /** Number of lines in the file; undefined if they were not counted, which means that more lines follow. */
  readonly total: number | undefined;
}

export interface Page {
  readonly text: string;
  readonly first: number;
  readonly last: number;
}

export interface PageLimits {
  readonly numbered: boolean;
  readonly maxCharacters: number;
}

export const MAX_LINE_CHARACTERS = 2_000;

/** Shows as many lines as fit, but at least one, and says how to get the rest. */
export function pageLines({ lines, first, total }: Lines, limits: PageLimits): Page {
  let text = "";
  let shown = 0;
  let cut = 0;
  for (const line of lines) {
    const whole = line.length <= MAX_LINE_CHARACTERS;
    const body = whole ? line : cutLine(line);
    const row = limits.numbered ? `${first + shown}\t${body}\n` : `${body}\n`;
    if (shown > 0 && text.length + row.length > limits.maxCharacters) break;
    text += row;
    shown += 1;
    if (!whole) cut += 1;
  }
  const last = first + shown - 1;
  return { text: text + notes({ first, last, total, cut }), first, last };
}

/** Splits text into lines without their line breaks. A trailing newline does not start another line. */
export function splitLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return text.includes("\r") ? lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line)) : lines;
}

/** Cuts a line at `MAX_LINE_CHARACTERS`, but not between two surrogates. */
export function cutLine(line: string): string {
  const before = line.charCodeAt(MAX_LINE_CHARACTERS - 1);
  const end = before >= 0xd800 && before <= 0xdbff ? MAX_LINE_CHARACTERS - 1 : MAX_LINE_CHARACTERS;
  return `${line.slice(0, end)}…[+${formatCount(line.length - end)} characters]`;
}

function notes(page: { first: number; last: number; total: number | undefined; cut: number }): string {
  const { first, last, total, cut } = page;
  const found = [];
  if (total === undefined) found.push(`Lines ${first}-${last}; more follow. Continue with offset=${last + 1}.`);
  else if (last < total) found.push(`Lines ${first}-${last} of ${total}. Continue with offset=${last + 1}.`);
  else if (first > 1) found.push(`Lines ${first}-${last} of ${total}.`);
  if (cut > 0)
    found.push(`${plural(cut, "line")} shortened. To see the rest, search with Grep or print with Bash (cut -c).`);
  return found.length > 0 ? `[${found.join(" ")}]` : "";
}
