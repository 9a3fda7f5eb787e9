import { toCrlf, toLf, usesCrlf } from "../shared/text-encoding.ts";

export interface Edit {
  readonly oldString: string;
  readonly newString: string;
  readonly replaceAll: boolean;
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Edited {
  readonly kind: "edited";
  readonly text: string;
  /** Positions of the new text, in order. */
  readonly places: readonly Span[];
}

export type EditOutcome =
  | Edited
  | { readonly kind: "missing" }
  /** Line numbers of the matches, at most `MAX_MATCHES`. */
  | { readonly kind: "ambiguous"; readonly lines: readonly number[] }
  /** More than `MAX_REPLACED` matches to replace. */
  | { readonly kind: "too_many" };

export const MAX_MATCHES = 1_000;
/** Maximum number of matches to replace. More would keep the process busy for seconds. */
export const MAX_REPLACED = 100_000;

/**
 * Replaces exact matches. In text with CRLF line breaks, a newline matches either kind of line break, and line breaks are
 * preserved.
 */
export function applyEdit(text: string, edit: Edit): EditOutcome {
  const spans = findSpans(text, edit);
  if (spans.length === 0) return { kind: "missing" };
  if (spans.length > MAX_REPLACED) return { kind: "too_many" };
  if (spans.length > 1 && !edit.replaceAll) return { kind: "ambiguous", lines: linesOf(text, spans) };
  return replaceSpans(text, spans, newTextFor(text, edit.newString));
}

function findSpans(text: string, { oldString, replaceAll }: Edit): Span[] {
  const crlf = text.includes("\r\n");
  const searched = crlf ? toLf(text) : text;
  const wanted = !crlf && text.includes(oldString) ? oldString : toLf(oldString);
  const original = crlf ? offsetsBefore(text) : (offset: number) => offset;
  // Overlapping matches make an edit ambiguous, and they can't all be replaced.
  const step = replaceAll ? wanted.length : 1;
  const spans: Span[] = [];
  for (let at = searched.indexOf(wanted); at >= 0; at = searched.indexOf(wanted, at + step)) {
    spans.push({ start: original(at), end: original(at + wanted.length) });
    if (spans.length === (replaceAll ? MAX_REPLACED + 1 : MAX_MATCHES)) break;
  }
  return spans;
}

/** Maps an offset in the text with LF line breaks to the offset in the same text with CRLF. */
function offsetsBefore(text: string): (offset: number) => number {
  const newlines: number[] = [];
  for (let at = text.indexOf("\r\n"); at >= 0; at = text.indexOf("\r\n", at + 2)) newlines.push(at - newlines.length);
  return (offset) => {
    let low = 0;
    let high = newlines.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((newlines[middle] ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    return offset + low;
  };
}

/** Gives the new text the line breaks of the text it replaces, or those of the file if the replaced text has none. */
function newTextFor(text: string, newString: string): (replaced: string) => string {
  if (!text.includes("\r\n")) return () => newString;
  const mostlyCrlf = usesCrlf(text);
  return (replaced) => {
    const crlf = replaced.includes("\n") ? replaced.includes("\r\n") : mostlyCrlf;
    return crlf ? toCrlf(newString) : toLf(newString);
  };
}

function replaceSpans(text: string, spans: readonly Span[], newText: (replaced: string) => string): Edited {
  const pieces: string[] = [];
  const places: Span[] = [];
  let read = 0;
  let written = 0;
  for (const { start, end } of spans) {
    const kept = text.slice(read, start);
    const added = newText(text.slice(start, end));
    pieces.push(kept, added);
    written += kept.length + added.length;
    places.push({ start: written - added.length, end: written });
    read = end;
  }
  pieces.push(text.slice(read));
  return { kind: "edited", text: pieces.join(""), places };
}

function linesOf(text: string, spans: readonly Span[]): number[] {
  let line = 1;
  let read = 0;
  return spans.map(({ start }) => {
    for (let at = text.indexOf("\n", read); at >= 0 && at < start; at = text.indexOf("\n", at + 1)) {
      line += 1;
      read = at + 1;
    }
    return line;
  });
}
