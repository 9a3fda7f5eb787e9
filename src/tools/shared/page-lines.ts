import { formatCount, plural } from "../../lib/index.ts";

export interface Lines {
  readonly lines: readonly string[];
  /** The number of the first of them. */
  readonly first: number;
  /** How many there are in all; undefined when nobody counted, and then more follow. */
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

/** As many lines as fit, and how to get at the rest. At least one line, so that every call gets on. */
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

/** The lines of a text, without their ends; a newline at the very end begins no further line. */
export function splitLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return text.includes("\r") ? lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line)) : lines;
}

/** Cut at `MAX_LINE_CHARACTERS`, never within a character of two code units. */
export function cutLine(line: string): string {
  const before = line.charCodeAt(MAX_LINE_CHARACTERS - 1);
  const end = before >= 0xd800 && before <= 0xdbff ? MAX_LINE_CHARACTERS - 1 : MAX_LINE_CHARACTERS;
  return `${line.slice(0, end)}…[+${formatCount(line.length - end)} characters]`;
}

function notes(page: { first: number; last: number; total: number | undefined; cut: number }): string {
  const { first, last, total, cut } = page;
  const found = [];
  if (total === undefined) found.push(`Lines ${first}-${last}; more follow: continue with offset=${last + 1}.`);
  else if (last < total) found.push(`Lines ${first}-${last} of ${total}: continue with offset=${last + 1}.`);
  else if (first > 1) found.push(`Lines ${first}-${last} of ${total}.`);
  if (cut > 0) found.push(`${plural(cut, "line")} cut; search them with Grep or print them with Bash (cut -c).`);
  return found.length > 0 ? `[${found.join(" ")}]` : "";
}
