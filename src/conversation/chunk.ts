import { createHash, type Hash } from "node:crypto";
import type { Head, Message } from "../protocol/index.ts";
import { fingerprintOf } from "./head-bytes.ts";
import { type MarkPlace, SegmentBuffer, type SharedPrefix } from "./segment-buffer.ts";
import { serializerFor } from "./serialize/dialects.ts";

export interface Mark {
  /** Index of the segment in the whole chain. */
  readonly segment: number;
  readonly place: MarkPlace;
}

/** State of a chain at one moment, from which a request is created. */
export interface ChainView {
  readonly head: Head;
  readonly chunks: readonly Chunk[];
  readonly segments: number;
  readonly marks: readonly Mark[];
  /**
   * Number of messages that are cached for the lifetime set in the head. All later messages are cached for five
   * minutes. If absent, the head's lifetime applies to all messages.
   */
  readonly longLived?: number | undefined;
}

/** A position in a chunk. Another request may have the same bytes before it. */
interface HashedEnd {
  readonly end: number;
  /** Hash of all messages up to `end`. */
  readonly hash: string;
}

/**
 * Consecutive messages and their bytes. A sealed chunk accepts no more messages and is shared by every chain that
 * contains it. A chunk is always preceded by the same chunks, so its hashes are valid in all of these chains.
 */
export class Chunk {
  readonly buffer: SegmentBuffer;
  private readonly before: Chunk | undefined;
  private readonly load: () => Message[];
  private loaded: Message[] | undefined;
  private hashed: { readonly hash: Hash; upTo: number } | undefined;
  private readonly ends: HashedEnd[] = [];
  /** For each segment, the length of `ends` after that segment was added. */
  private readonly endCounts: number[] = [];

  private constructor(buffer: SegmentBuffer, load: () => Message[], before?: Chunk) {
    this.buffer = buffer;
    this.load = load;
    this.before = before;
  }

  static empty(before: Chunk | undefined, prefix?: SharedPrefix): Chunk {
    return new Chunk(new SegmentBuffer(prefix), () => [], before);
  }

  /** Returns a sealed first chunk whose bytes are already known. Its messages are loaded when they are needed. */
  static restored(buffer: SegmentBuffer, load: () => Message[]): Chunk {
    return new Chunk(buffer, load);
  }

  get messages(): Message[] {
    this.loaded ??= this.load();
    return this.loaded;
  }

  get count(): number {
    return this.loaded?.length ?? this.buffer.segments;
  }

  /** Writes the bytes of the first `count` messages, unless they are already written. */
  write(head: Head, count = this.count): void {
    if (this.buffer.segments >= count) return;
    const serializer = serializerFor(head.dialect);
    const written = this.buffer.segments;
    const before = (index: number): Message | undefined =>
      index === 0 ? this.before?.messages.at(-1) : this.messages[index - 1];
    const fresh = this.messages.slice(written, count);
    this.buffer.write(fresh.map((message, at) => serializer.segment(message, head, () => before(written + at))));
  }

  /**
   * Returns the fingerprint of all messages up to a byte in this chunk. Bytes that were hashed before are not hashed
   * again.
   */
  fingerprintUpTo(end: number): string {
    return fingerprintOf(this.hashUpTo(end));
  }

  /**
   * Returns the ends of the first `count` messages and of their tool results, in order. The bytes of these messages
   * must already be written.
   */
  hashedEnds(count: number): readonly HashedEnd[] {
    const add = (end: number): void => void this.ends.push({ end, hash: this.fingerprintUpTo(end) });
    for (let segment = this.endCounts.length; segment < count; segment += 1) {
      const results = this.buffer.markOffset(segment, "results");
      if (results >= 0 && results !== this.buffer.markOffset(segment, "end")) add(results);
      add(this.buffer.endOf(segment));
      this.endCounts.push(this.ends.length);
    }
    return this.ends.slice(0, this.endCounts[count - 1]);
  }

  private hashUpTo(end: number): Hash {
    if (this.hashed === undefined || this.hashed.upTo > end) this.hashed = { hash: this.hashBefore(), upTo: 0 };
    for (const bytes of this.buffer.views(this.hashed.upTo, end)) this.hashed.hash.update(bytes);
    this.hashed.upTo = end;
    return this.hashed.hash.copy();
  }

  private hashBefore(): Hash {
    return this.before?.hashUpTo(this.before.buffer.length) ?? createHash("sha256");
  }
}

/** A chunk in a view, and the part of it that belongs to the view. */
export interface ViewedChunk {
  readonly chunk: Chunk;
  /** Index of the chunk's first segment in the whole chain. */
  readonly first: number;
  readonly count: number;
}

/** Returns the chunks of a view in order, with their bytes written. */
export function writtenChunks({ head, chunks, segments }: ChainView): readonly ViewedChunk[] {
  const written: ViewedChunk[] = [];
  let first = 0;
  for (const chunk of chunks) {
    const count = Math.min(chunk.count, segments - first);
    if (count <= 0) break;
    chunk.write(head, count);
    written.push({ chunk, first, count });
    first += count;
  }
  return written;
}

/** Returns the fingerprint of a request's messages without cache marks. */
export function messagesFingerprint(view: ChainView): string {
  const last = writtenChunks(view).at(-1);
  if (last === undefined) return fingerprintOf(createHash("sha256"));
  return last.chunk.fingerprintUpTo(last.chunk.buffer.endOf(last.count - 1));
}
