import { MAX_LINE_CHARACTERS } from "../shared/page-lines.ts";
import { type LineRange, MAX_CHARACTERS } from "./line-range.ts";

/**
 * Maximum number of bytes of a line to keep. A character takes at most four bytes; one extra character shows that the
 * line is longer.
 */
const MAX_LINE_BYTES = (MAX_LINE_CHARACTERS + 1) * 4;

export interface LineScanner {
  feed(bytes: Uint8Array): void;
  /** Ends the input. Text after the last newline counts as a line. */
  end(): void;
  /**
   * Returns true once all requested lines have been collected and more text follows. After that, new input is only
   * counted.
   */
  hasMore(): boolean;
  /** Returns the lines and their total number. The total is undefined if the input has not ended. */
  result(): { readonly lines: readonly string[]; readonly total: number | undefined };
}

/**
 * Collects the requested lines of UTF-8 text from chunks, up to the size of a page, in limited memory. Long lines are
 * cut or wrapped. If they are wrapped, each part is counted as a line.
 */
export function createLineScanner({ offset, limit }: LineRange, { folds }: { readonly folds: boolean }): LineScanner {
  const lines: string[] = [];
  let characters = 0;
  let number = 1;
  let pieces: Uint8Array[] = [];
  let kept = 0;
  let length = 0;
  let more = false;
  let ended = false;
  const isFull = () => lines.length >= limit || characters > MAX_CHARACTERS;
  const isWanted = () => number >= offset && !isFull();

  function take(bytes: Uint8Array): void {
    length += bytes.length;
    if (!isWanted() || kept >= MAX_LINE_BYTES) return;
    const piece = Uint8Array.prototype.slice.call(bytes, 0, MAX_LINE_BYTES - kept);
    pieces.push(piece);
    kept += piece.length;
  }
  function endLine(): void {
    if (isWanted()) {
      const line = textOf(Buffer.concat(pieces), length);
      characters += Math.min(line.length, MAX_LINE_CHARACTERS);
      lines.push(line);
    }
    number += 1;
    pieces = [];
    kept = 0;
    length = 0;
  }

  return {
    hasMore: () => more,
    feed(bytes) {
      let start = 0;
      while (start < bytes.length) {
        if (isFull()) more = true;
        const newline = bytes.indexOf(10, start);
        const end = newline < 0 ? bytes.length : newline;
        const fold = folds ? foldAt(bytes, Math.max(start, start + MAX_LINE_CHARACTERS - length)) : end;
        if (fold < end) {
          take(bytes.subarray(start, fold));
          endLine();
          start = fold;
          continue;
        }
        take(bytes.subarray(start, end));
        if (newline < 0) return;
        endLine();
        start = newline + 1;
      }
    },
    end() {
      if (length > 0) endLine();
      ended = true;
    },
    result: () => ({ lines, total: ended ? number - 1 : undefined }),
  };
}

/** Returns the first position at or after `at` where a character begins. */
function foldAt(bytes: Uint8Array, at: number): number {
  let position = at;
  while (position < at + 3 && ((bytes[position] ?? 0) & 0xc0) === 0x80) position += 1;
  return position;
}

/** Pads an incomplete line beyond the length that a page shows, so that the page marks it as cut. */
function textOf(bytes: Buffer, length: number): string {
  const text = bytes.toString("utf8").replace(/\r$/, "");
  return bytes.length < length && text.length <= MAX_LINE_CHARACTERS ? text.padEnd(MAX_LINE_CHARACTERS + 1) : text;
}
