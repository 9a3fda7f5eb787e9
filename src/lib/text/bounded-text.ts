import { plural } from "./format.ts";

export interface BoundedText {
  text: string;
  truncated: boolean;
  totalCharacters: number;
  totalLines: number;
}

/**
 * Keeps the start and the end of long text with a marker line between them, cut at line boundaries where possible.
 * The result has at most `maxCharacters` characters, and at most `maxLines` lines in addition to the marker.
 */
export function boundText(
  text: string,
  { maxCharacters, maxLines = Number.MAX_SAFE_INTEGER }: { maxCharacters: number; maxLines?: number },
): BoundedText {
  const totalLines = countLines(text);
  const total = { totalCharacters: text.length, totalLines };
  if (text.length <= maxCharacters && totalLines <= maxLines) return { text, truncated: false, ...total };

  // The numbers in the marker are not known yet, so reserve space for the longest possible marker for this text.
  const available = maxCharacters - marker(totalLines + 2, text.length).length - 2;
  if (available < 2) {
    const end = Math.min(beforeSurrogate(text, Math.max(0, maxCharacters)), afterLines(text, maxLines));
    return { text: text.slice(0, end), truncated: true, ...total };
  }

  const headLines = Math.ceil(maxLines * headShare);
  const headEnd = endOfHead(text, { characters: Math.ceil(available * headShare), lines: headLines });
  const tailStart = startOfTail(text, {
    characters: Math.floor(available * (1 - headShare)),
    lines: maxLines - headLines,
    after: headEnd,
  });
  const head = text.slice(0, headEnd);
  const leftOut = text.slice(headEnd, tailStart);
  const middle = `${head === "" || head.endsWith("\n") ? "" : "\n"}${marker(countLines(leftOut), leftOut.length)}\n`;
  return { text: head + middle + text.slice(tailStart), truncated: true, ...total };
}

/** Counts lines. A trailing newline does not start another line. */
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

/** Returns true if a cut at this position would split a surrogate pair. */
function isLowSurrogate(text: string, position: number): boolean {
  if (position <= 0 || position >= text.length) return false;
  return (text.charCodeAt(position) & 0xfc00) === 0xdc00 && (text.charCodeAt(position - 1) & 0xfc00) === 0xd800;
}

export interface CollectedText {
  text: string;
  truncated: boolean;
  totalBytes: number;
  totalLines: number;
  leftOutBytes: number;
}

export interface TextCollector {
  push(chunk: Uint8Array | string): void;
  readonly totalBytes: number;
  /** Returns the text collected so far. More text can be pushed afterwards. */
  collected(): CollectedText;
}

/** Keeps the first and the last bytes of a stream of any length, in at most `headBytes + tailBytes` bytes of memory. */
export function createTextCollector({ headBytes, tailBytes }: { headBytes: number; tailBytes: number }): TextCollector {
  const head = createHead(headBytes);
  const tail = createTail(tailBytes);
  let totalBytes = 0;
  let newlines = 0;
  let endsInNewline = true;

  return {
    push(chunk) {
      const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      if (bytes.length === 0) return;
      totalBytes += bytes.length;
      newlines += countNewlines(bytes);
      endsInNewline = bytes[bytes.length - 1] === 10;
      const taken = head.add(bytes);
      if (taken < bytes.length) tail.add(bytes.subarray(taken));
    },
    get totalBytes() {
      return totalBytes;
    },
    collected() {
      const total = { totalBytes, totalLines: newlines + (endsInNewline ? 0 : 1) };
      const first = head.bytes();
      const last = tail.bytes();
      const leftOut = totalBytes - first.length - last.length;
      if (leftOut === 0)
        return { text: Buffer.concat([first, last]).toString(), truncated: false, leftOutBytes: 0, ...total };
      const headEnd = endOfWholeCharacters(first);
      const tailStart = startOfWholeCharacters(last);
      const leftOutBytes = leftOut + (first.length - headEnd) + tailStart;
      const headText = first.toString("utf8", 0, headEnd);
      const lineBreak = headText === "" || headText.endsWith("\n") ? "" : "\n";
      const text = `${headText}${lineBreak}[… ${plural(leftOutBytes, "byte")} left out …]\n${last.toString("utf8", tailStart)}`;
      return { text, truncated: true, leftOutBytes, ...total };
    },
  };
}

function createHead(capacity: number) {
  let buffer = Buffer.alloc(0);
  let used = 0;
  return {
    /** Adds bytes up to the capacity and returns the number of bytes that fit. */
    add(bytes: Uint8Array): number {
      const taken = Math.min(bytes.length, capacity - used);
      if (used + taken > buffer.length) {
        const grown = Buffer.alloc(Math.min(capacity, Math.max(used + taken, buffer.length * 2, 4096)));
        grown.set(buffer.subarray(0, used));
        buffer = grown;
      }
      buffer.set(bytes.subarray(0, taken), used);
      used += taken;
      return taken;
    },
    bytes: () => buffer.subarray(0, used),
  };
}

function createTail(capacity: number) {
  let ring: Buffer | undefined;
  let next = 0;
  let used = 0;
  return {
    add(bytes: Uint8Array): void {
      if (capacity <= 0) return;
      ring ??= Buffer.alloc(capacity);
      const kept = bytes.subarray(Math.max(0, bytes.length - capacity));
      const beforeEnd = Math.min(kept.length, capacity - next);
      ring.set(kept.subarray(0, beforeEnd), next);
      ring.set(kept.subarray(beforeEnd), 0);
      next = (next + kept.length) % capacity;
      used = Math.min(capacity, used + kept.length);
    },
    bytes(): Buffer {
      if (!ring) return Buffer.alloc(0);
      return used < capacity ? ring.subarray(0, used) : Buffer.concat([ring.subarray(next), ring.subarray(0, next)]);
    },
  };
}

function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let position = bytes.indexOf(10); position >= 0; position = bytes.indexOf(10, position + 1)) count += 1;
  return count;
}

/** Returns the length of the bytes without an incomplete UTF-8 character at the end. */
export function endOfWholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    return byte >= 0xc0 && characterLength(byte) > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function startOfWholeCharacters(bytes: Uint8Array): number {
  let start = 0;
  while (start < 3 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return start;
}

function characterLength(lead: number): number {
  if (lead >= 0xf0) return 4;
  return lead >= 0xe0 ? 3 : 2;
}
