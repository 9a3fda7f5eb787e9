import { withoutLoneSurrogates } from "./lone-surrogates.ts";
import type { SegmentText } from "./serializer.ts";

/** The bytes of consecutive segments, written once. Only the tail grows; what was handed out as a view never changes. */
export class Tape {
  private buffer = Buffer.allocUnsafeSlow(0);
  private used = 0;
  private readonly ends: number[] = [];
  private readonly lastBlockMarks: number[] = [];
  private readonly resultMarks: number[] = [];

  get segments(): number {
    return this.ends.length;
  }

  get length(): number {
    return this.used;
  }

  write(segments: readonly SegmentText[]): void {
    let joined = "";
    for (const { text } of segments) joined += text;
    joined = withoutLoneSurrogates(joined);
    const size = Buffer.byteLength(joined, "utf8");
    this.reserve(size);
    let end = this.used;
    this.used += this.buffer.write(joined, this.used, "utf8");
    // A long plain conversation is written at one go; where characters have several bytes each text is measured.
    const plain = size === joined.length;
    for (const segment of segments) {
      end += plain ? segment.text.length : Buffer.byteLength(segment.text, "utf8");
      this.pushOffsets(segment, end);
    }
  }

  /** Copies one segment of another tape, bytes and marks. */
  copy(source: Tape, index: number): void {
    const from = source.startOf(index);
    const to = source.endOf(index);
    this.reserve(to - from);
    source.buffer.copy(this.buffer, this.used, from, to);
    const shift = this.used - from;
    this.used += to - from;
    this.ends.push(this.used);
    this.lastBlockMarks.push(shifted(source.lastBlockMarks[index], shift));
    this.resultMarks.push(shifted(source.resultMarks[index], shift));
  }

  startOf(index: number): number {
    return index === 0 ? 0 : (this.ends[index - 1] ?? this.used);
  }

  endOf(index: number): number {
    return this.ends[index] ?? this.used;
  }

  /** Where a cache mark may be inserted, or -1. */
  markOffset(index: number, place: MarkPlace): number {
    return (place === "end" ? this.lastBlockMarks[index] : this.resultMarks[index]) ?? -1;
  }

  view(from: number, to: number): Uint8Array {
    return this.buffer.subarray(from, to);
  }

  private pushOffsets({ text, markAt, resultsMarkAt }: SegmentText, end: number): void {
    this.ends.push(end);
    // Behind the last block only brackets follow, one byte each.
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

export type MarkPlace = "end" | "results";

function shifted(offset: number | undefined, by: number): number {
  return offset === undefined || offset < 0 ? -1 : offset + by;
}
