import type { BodyOptions } from "../ports/index.ts";
import type { CacheLifetime, Head } from "../protocol/index.ts";
import { type ChainView, type Chunk, writtenChunks } from "./chunk.ts";
import { type HeadBytes, headBytes } from "./head-bytes.ts";
import type { MarkPlace } from "./segment-buffer.ts";
import { serializerFor } from "./serialize/dialects.ts";
import type { RequestHead } from "./serialize/serializer.ts";

/** Returns the pieces of a request: head, chunks and tail, with cache marks between them. No bytes are copied. */
export function requestBody(view: ChainView, maxTokens: number, options: BodyOptions = {}): readonly Uint8Array[] {
  const serializer = serializerFor(view.head.dialect);
  const head = headBytes(requestHead(view.head, options));
  const marks: MarkBytes = { "5m": Buffer.from(serializer.marks["5m"]), "1h": Buffer.from(serializer.marks["1h"]) };
  const ofHead = marks[view.head.cacheLifetime ?? "5m"];
  const pieces = headPieces(head, { mark: ofHead, others: view.marks.length });
  for (const { chunk, first, count } of writtenChunks(view)) {
    // Every segment begins with a comma, which must be omitted for the first one in the list.
    const start = first === 0 && !head.holdsMessage ? 1 : 0;
    pushChunk(pieces, chunk, { start, count, marks: marksIn(view, { first, count, bytes: marks }) });
  }
  pieces.push(Buffer.from(serializer.end({ ...view.head, ...options }, maxTokens)));
  return pieces;
}

/** Heads without summaries, so that their bytes are produced once. */
const headsWithoutSummaries = new WeakMap<Head, RequestHead>();

function requestHead(head: Head, options: BodyOptions): RequestHead {
  if (options.answerSchema) return { ...head, ...options };
  if (!options.withoutSummaries) return head;
  const made = headsWithoutSummaries.get(head) ?? { ...head, withoutSummaries: true };
  headsWithoutSummaries.set(head, made);
  return made;
}

type MarkBytes = Readonly<Record<CacheLifetime, Uint8Array>>;

/**
 * Returns the cache lifetime to request at the end of this message. It is never longer than the lifetime of the part
 * before the message.
 */
export function lifetimeAt({ head, longLived = Number.POSITIVE_INFINITY }: ChainView, segment: number): CacheLifetime {
  return (segment < longLived && head.cacheLifetime) || "5m";
}

const MOST_MARKS = 4;

/**
 * Returns the pieces of the head with its cache marks. The number of marks is limited. Marks in messages take
 * precedence, then the mark after the system text, then the marks after tools, last tool first. Providers ignore marks
 * below the model's minimum at no cost, so no tokens are estimated here.
 */
function headPieces(
  { bytes, markAt, toolMarks }: HeadBytes,
  { mark, others }: { readonly mark: Uint8Array; readonly others: number },
): Uint8Array[] {
  const all = mark.length === 0 ? [] : [...toolMarks, markAt].filter((at) => at >= 0);
  const offsets = all.slice(Math.max(0, all.length - (MOST_MARKS - others)));
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const offset of offsets) {
    pieces.push(bytes.subarray(from, offset), mark);
    from = offset;
  }
  return [...pieces, bytes.subarray(from)];
}

interface ChunkPart {
  readonly start: number;
  readonly count: number;
  readonly marks: readonly { readonly segment: number; readonly place: MarkPlace; readonly bytes: Uint8Array }[];
}

function pushChunk(pieces: Uint8Array[], { buffer }: Chunk, { start, count, marks }: ChunkPart): void {
  let from = start;
  const placed = marks
    .map(({ segment, place, bytes }) => ({ offset: buffer.markOffset(segment, place), bytes }))
    .filter(({ offset, bytes }) => offset >= 0 && bytes.length > 0);
  for (const { offset, bytes } of placed.sort((left, right) => left.offset - right.offset)) {
    pieces.push(...buffer.views(from, offset), bytes);
    from = offset;
  }
  pieces.push(...buffer.views(from, buffer.endOf(count - 1)));
}

function marksIn(
  view: ChainView,
  { first, count, bytes }: { readonly first: number; readonly count: number; readonly bytes: MarkBytes },
): ChunkPart["marks"] {
  return view.marks
    .filter(({ segment }) => segment >= first && segment < first + count)
    .map(({ segment, place }) => ({ segment: segment - first, place, bytes: bytes[lifetimeAt(view, segment)] }));
}
