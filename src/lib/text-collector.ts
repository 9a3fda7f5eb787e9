import { plural } from "./text.ts";

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
  /** What there is so far; collecting can go on after it. */
  collected(): CollectedText;
}

/** Keeps the first and the last bytes of a stream of any length; memory stays within `headBytes + tailBytes`. */
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
    /** The number of bytes it had room for. */
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

/** Leaves out the beginning of a UTF-8 character whose rest was cut off. */
function endOfWholeCharacters(bytes: Uint8Array): number {
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
