import type { SegmentText } from "./serialize/serializer.ts";
import { withoutLoneSurrogates } from "./serialize/wire-text.ts";

/** Place of a cache mark in a segment: after the last block, or after the last tool result. */
export type MarkPlace = "end" | "results";

/** Bytes at the beginning of the first segments of sibling forks. Set by the first sibling that is written. */
export interface SharedPrefix {
  bytes?: Uint8Array;
}

const LEAST_SHARED_BYTES = 512;

/** The bytes of consecutive segments, each written once. Bytes are only appended, so that existing views stay valid. */
export class SegmentBuffer {
  private readonly prefix: SharedPrefix | undefined;
  /** Bytes shared with a sibling. They precede `buffer`. */
  private shared: Uint8Array = new Uint8Array(0);
  private buffer: Buffer = Buffer.allocUnsafeSlow(0);
  /** Number of used bytes in `buffer`. */
  private used = 0;
  private ends: number[] = [];
  private lastBlockMarks: number[] = [];
  private resultMarks: number[] = [];

  constructor(prefix?: SharedPrefix) {
    this.prefix = prefix;
  }

  get segments(): number {
    return this.ends.length;
  }

  get length(): number {
    return this.shared.length + this.used;
  }

  write(segments: readonly SegmentText[]): void {
    let joined = "";
    for (const { text } of segments) joined += text;
    joined = withoutLoneSurrogates(joined);
    const size = Buffer.byteLength(joined, "utf8");
    this.reserve(size);
    let end = this.length;
    const isFirst = end === 0;
    this.used += this.buffer.write(joined, this.used, "utf8");
    const isAscii = size === joined.length;
    for (const segment of segments) {
      end += isAscii ? segment.text.length : Buffer.byteLength(segment.text, "utf8");
      this.pushOffsets(segment, end);
    }
    if (isFirst && this.prefix) this.share(this.prefix);
  }

  /** Appends a segment from another buffer, including its marks. */
  copy(source: SegmentBuffer, index: number): void {
    const from = source.startOf(index);
    const to = source.endOf(index);
    this.reserve(to - from);
    const shift = this.length - from;
    for (const piece of source.views(from, to)) {
      this.buffer.set(piece, this.used);
      this.used += piece.length;
    }
    this.ends.push(this.length);
    this.lastBlockMarks.push(shifted(source.lastBlockMarks[index], shift));
    this.resultMarks.push(shifted(source.resultMarks[index], shift));
  }

  /** Returns three numbers for each segment. `restored` can recreate the buffer from these numbers and the bytes. */
  offsets(): readonly number[] {
    return [...this.ends, ...this.lastBlockMarks, ...this.resultMarks];
  }

  static restored(bytes: Uint8Array, offsets: readonly number[]): SegmentBuffer {
    const restored = new SegmentBuffer();
    restored.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    restored.used = bytes.length;
    const segments = offsets.length / 3;
    restored.ends = offsets.slice(0, segments);
    restored.lastBlockMarks = offsets.slice(segments, 2 * segments);
    restored.resultMarks = offsets.slice(2 * segments);
    return restored;
  }

  startOf(index: number): number {
    return index === 0 ? 0 : (this.ends[index - 1] ?? this.length);
  }

  endOf(index: number): number {
    return this.ends[index] ?? this.length;
  }

  /** Returns the offset at which a cache mark can be inserted, or -1 if there is none. */
  markOffset(index: number, place: MarkPlace): number {
    return (place === "end" ? this.lastBlockMarks[index] : this.resultMarks[index]) ?? -1;
  }

  views(from: number, to: number): readonly Uint8Array[] {
    const { length } = this.shared;
    if (from >= length) return [this.buffer.subarray(from - length, to - length)];
    const before = this.shared.subarray(from, Math.min(to, length));
    return to <= length ? [before] : [before, this.buffer.subarray(0, to - length)];
  }

  /** Shares bytes that a sibling has already written, instead of keeping a copy. */
  private share(prefix: SharedPrefix): void {
    const first = this.buffer.subarray(0, this.endOf(0));
    prefix.bytes ??= first;
    const common = prefix.bytes === first ? 0 : commonLength(prefix.bytes, first);
    if (common < LEAST_SHARED_BYTES) return;
    const own = Buffer.allocUnsafeSlow(this.used - common);
    this.buffer.copy(own, 0, common, this.used);
    this.shared = prefix.bytes.subarray(0, common);
    this.buffer = own;
    this.used = own.length;
  }

  private pushOffsets({ text, markAt, resultsMarkAt }: SegmentText, end: number): void {
    this.ends.push(end);
    // The last block is followed only by brackets, which are one byte each.
    const mark = markAt < 0 ? -1 : end - (text.length - markAt);
    this.lastBlockMarks.push(mark);
    if (resultsMarkAt < 0) this.resultMarks.push(-1);
    else if (resultsMarkAt === markAt) this.resultMarks.push(mark);
    else this.resultMarks.push(end - Buffer.byteLength(text.slice(resultsMarkAt), "utf8"));
  }

  private reserve(bytes: number): void {
    const needed = this.used + bytes;
    if (needed <= this.buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.buffer.length * 2, 1024));
    this.buffer.copy(grown, 0, 0, this.used);
    this.buffer = grown;
  }
}

function commonLength(left: Uint8Array, right: Uint8Array): number {
  const most = Math.min(left.length, right.length);
  let length = 0;
  while (length < most && left[length] === right[length]) length += 1;
  return length;
}

function shifted(offset: number | undefined, by: number): number {
  return offset === undefined || offset < 0 ? -1 : offset + by;
}
