import { plural } from "./text.ts";

export interface BoundedText {
  text: string;
  truncated: boolean;
  totalCharacters: number;
  totalLines: number;
}

/**
 * Keeps the head and the tail of a long text with a marker line between, whole lines where they fit.
 * The result has at most `maxCharacters`, and at most `maxLines` lines besides the marker.
 */
export function boundText(
  text: string,
  { maxCharacters, maxLines = Number.MAX_SAFE_INTEGER }: { maxCharacters: number; maxLines?: number },
): BoundedText {
  const totalLines = countLines(text);
  const total = { totalCharacters: text.length, totalLines };
  if (text.length <= maxCharacters && totalLines <= maxLines) return { text, truncated: false, ...total };

  // The marker's numbers are not known yet; no marker of this text is longer than this one.
  const room = maxCharacters - marker(totalLines + 2, text.length).length - 2;
  if (room < 2) {
    const end = Math.min(beforeSurrogate(text, Math.max(0, maxCharacters)), afterLines(text, maxLines));
    return { text: text.slice(0, end), truncated: true, ...total };
  }

  const headLines = Math.ceil(maxLines * headShare);
  const headEnd = endOfHead(text, { characters: Math.ceil(room * headShare), lines: headLines });
  const tailStart = startOfTail(text, {
    characters: Math.floor(room * (1 - headShare)),
    lines: maxLines - headLines,
    after: headEnd,
  });
  const head = text.slice(0, headEnd);
  const leftOut = text.slice(headEnd, tailStart);
  const middle = `${head === "" || head.endsWith("\n") ? "" : "\n"}${marker(countLines(leftOut), leftOut.length)}\n`;
  return { text: head + middle + text.slice(tailStart), truncated: true, ...total };
}

/** Lines as a reader counts them: a last newline begins no further line. */
export function countLines(text: string): number {
  let lines = 0;
  let position = 0;
  while (position < text.length) {
    lines += 1;
    const end = text.indexOf("\n", position);
    if (end < 0) break;
    position = end + 1;
  }
  return lines;
}

const headShare = 0.7;

function marker(lines: number, characters: number): string {
  const amount =
    lines > 1 ? `${plural(lines, "line")} (${plural(characters, "character")})` : plural(characters, "character");
  return `[… ${amount} left out …]`;
}

function endOfHead(text: string, { characters, lines }: { characters: number; lines: number }): number {
  const limit = Math.min(characters, text.length);
  const byLines = afterLines(text, lines);
  if (byLines <= limit) return byLines;
  const lineEnd = text.lastIndexOf("\n", limit - 1) + 1;
  return lineEnd >= limit / 2 ? lineEnd : beforeSurrogate(text, limit);
}

function startOfTail(
  text: string,
  { characters, lines, after }: { characters: number; lines: number; after: number },
): number {
  const limit = Math.max(after, text.length - characters, beforeLastLines(text, lines));
  if (limit === 0 || text[limit - 1] === "\n") return limit;
  const lineStart = text.indexOf("\n", limit) + 1;
  if (lineStart > 0 && lineStart - limit <= (text.length - limit) / 2) return lineStart;
  return isLowSurrogate(text, limit) ? limit + 1 : limit;
}

function afterLines(text: string, lines: number): number {
  let position = 0;
  for (let line = 0; line < lines; line++) {
    const end = text.indexOf("\n", position);
    if (end < 0) return text.length;
    position = end + 1;
  }
  return position;
}

function beforeLastLines(text: string, lines: number): number {
  if (lines <= 0) return text.length;
  let position = text.endsWith("\n") ? text.length - 1 : text.length;
  for (let line = 0; line < lines; line++) {
    if (position <= 0) return 0;
    const end = text.lastIndexOf("\n", position - 1);
    if (end < 0) return 0;
    position = end;
  }
  return position + 1;
}

function beforeSurrogate(text: string, position: number): number {
  return isLowSurrogate(text, position) ? position - 1 : position;
}

/** Whether a cut at this position would split a pair. */
function isLowSurrogate(text: string, position: number): boolean {
  if (position <= 0 || position >= text.length) return false;
  return (text.charCodeAt(position) & 0xfc00) === 0xdc00 && (text.charCodeAt(position - 1) & 0xfc00) === 0xd800;
}
