const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Number of UTF-16 units that are segmented at once. V8 takes quadratic time to segment a text. */
const PIECE = 128;

/**
 * Characters that never form a grapheme with each other: line breaks, ASCII, and the letters of Latin, Greek, Cyrillic,
 * Chinese, Japanese and Korean.
 */
const simple =
  /^[\n -~\u00c0-\u02ff\u0370-\u0377\u0391-\u03a1\u03a3-\u0482\u048a-\u052f\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]*$/;

/** Characters that belong to the one before them. */
const mark = /\p{M}/u;

/** Yields the graphemes of a part of a text. Both ends of the part must be boundaries between graphemes. */
export function* graphemes(text: string, from = 0, to = text.length): Generator<string> {
  let at = from;
  let size = PIECE;
  while (at < to) {
    const end = Math.min(at + size, to);
    // Both halves of a surrogate pair must be in the same piece.
    const piece = text.slice(at, isHighSurrogate(text.charCodeAt(end - 1)) ? Math.min(end + 1, to) : end);
    const start = at;
    let last = "";
    for (const grapheme of simple.test(piece) ? piece : segmentsOf(piece)) {
      if (last !== "") yield last;
      at += last.length;
      last = grapheme;
    }
    // The last grapheme may continue after the piece.
    if (at + last.length === to) {
      yield last;
      return;
    }
    size = at === start ? 2 * size : PIECE;
  }
}

function* segmentsOf(piece: string): Generator<string> {
  for (const { segment } of segmenter.segment(piece)) yield segment;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

/** Returns the start of the grapheme before an index, or 0. */
export function boundaryBefore(text: string, index: number): number {
  const end = Math.min(index, text.length);
  return end <= 0 ? 0 : graphemeAt(text, end - 1).from;
}

/** Returns the first boundary between graphemes at or after an index. */
export function boundaryAtOrAfter(text: string, index: number): number {
  return index <= 0 || index >= text.length
    ? Math.max(0, Math.min(index, text.length))
    : graphemeAt(text, index - 1).to;
}

/** Returns where the grapheme that contains a UTF-16 unit begins and ends. */
function graphemeAt(text: string, index: number): { readonly from: number; readonly to: number } {
  const from = certainBefore(text, index);
  const around = segmenter.segment(text.slice(from, certainAfter(text, index + 1)));
  const { index: at = 0, segment = "" } = around.containing(index - from) ?? {};
  return { from: from + at, to: from + at + segment.length };
}

/** Number of UTF-16 units in which a boundary is searched for that is certain without segmenting the line. */
const MAX_SEARCHED = 256;

/** Returns an index at or before the given one that is certainly a boundary. */
function certainBefore(text: string, index: number): number {
  for (let at = index; at > Math.max(0, index - MAX_SEARCHED); at -= 1) if (isAfterSimple(text, at)) return at;
  return index === 0 ? 0 : text.lastIndexOf("\n", index - 1) + 1;
}

/** Returns an index at or after the given one that is certainly a boundary. */
function certainAfter(text: string, index: number): number {
  for (let at = index; at < Math.min(text.length, index + MAX_SEARCHED); at += 1)
    if (isAfterSimple(text, at)) return at;
  const lineBreak = text.indexOf("\n", index - 1);
  return lineBreak < 0 ? text.length : lineBreak + 1;
}

/** Returns whether there is a simple character at an index, and before it a simple character or a mark. */
function isAfterSimple(text: string, index: number): boolean {
  const before = text.slice(index - 1, index);
  return simple.test(text.slice(index, index + 1)) && (simple.test(before) || mark.test(before));
}
