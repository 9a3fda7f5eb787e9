import { withoutLoneSurrogates } from "./lone-surrogates.ts";
import type { SegmentText } from "./serializer.ts";

/** What the first segments of siblings begin with: that of the first one that is written, for all of them. */
export interface Beginning {
  bytes?: Uint8Array;
}

/** For less it is not worth it. */
const LEAST_SHARED = 512;

/** The bytes of consecutive segments, written once. Only the tail grows; what was handed out as a view never changes. */
export class Tape {
  private readonly beginning: Beginning | undefined;
  /** Of a sibling, before its own. */
  private shared: Uint8Array = nothing;
  private buffer: Buffer = Buffer.allocUnsafeSlow(0);
  /** Of its own. */
  private used = 0;
  private ends: number[] = [];
  private lastBlockMarks: number[] = [];
  private resultMarks: number[] = [];

  constructor(beginning?: Beginning) {
    this.beginning = beginning;
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
    // A long plain conversation is written at one go; where characters have several bytes each text is measured.
    const plain = size === joined.length;
    for (const segment of segments) {
      end += plain ? segment.text.length : Buffer.byteLength(segment.text, "utf8");
      this.pushOffsets(segment, end);
    }
    if (isFirst && this.beginning) this.share(this.beginning);
  }

  /** Copies one segment of another tape, bytes and marks. */
  copy(source: Tape, index: number): void {
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

  /** What `restored` makes it from again, beside its bytes: three numbers for each segment. */
  offsets(): readonly number[] {
    return [...this.ends, ...this.lastBlockMarks, ...this.resultMarks];
  }

  static restored(bytes: Uint8Array, offsets: readonly number[]): Tape {
    const tape = new Tape();
    tape.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    tape.used = bytes.length;
    const segments = offsets.length / 3;
    tape.ends = offsets.slice(0, segments);
    tape.lastBlockMarks = offsets.slice(segments, 2 * segments);
    tape.resultMarks = offsets.slice(2 * segments);
    return tape;
  }

  startOf(index: number): number {
    return index === 0 ? 0 : (this.ends[index - 1] ?? this.length);
  }

  endOf(index: number): number {
    return this.ends[index] ?? this.length;
  }

  /** Where a cache mark may be inserted, or -1. */
  markOffset(index: number, place: MarkPlace): number {
    return (place === "end" ? this.lastBlockMarks[index] : this.resultMarks[index]) ?? -1;
  }

  views(from: number, to: number): readonly Uint8Array[] {
    const { length } = this.shared;
    if (from >= length) return [this.buffer.subarray(from - length, to - length)];
    const before = this.shared.subarray(from, Math.min(to, length));
    return to <= length ? [before] : [before, this.buffer.subarray(0, to - length)];
  }

  /** Keeps of its own only what no sibling has written. */
  private share(beginning: Beginning): void {
    const first = this.buffer.subarray(0, this.endOf(0));
    beginning.bytes ??= first;
    const common = beginning.bytes === first ? 0 : commonLength(beginning.bytes, first);
    if (common < LEAST_SHARED) return;
    const own = Buffer.allocUnsafeSlow(this.used - common);
    this.buffer.copy(own, 0, common, this.used);
    this.shared = beginning.bytes.subarray(0, common);
    this.buffer = own;
    this.used = own.length;
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

const nothing = new Uint8Array(0);

function commonLength(left: Uint8Array, right: Uint8Array): number {
  const most = Math.min(left.length, right.length);
  let length = 0;
  while (length < most && left[length] === right[length]) length += 1;
  return length;
}

export type MarkPlace = "end" | "results";

function shifted(offset: number | undefined, by: number): number {
  return offset === undefined || offset < 0 ? -1 : offset + by;
}
