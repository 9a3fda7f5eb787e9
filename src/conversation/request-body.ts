import type { CacheLifetime } from "../protocol/index.ts";
import { type ChainView, type Chunk, writeBytes } from "./chunk.ts";
import { serializerFor } from "./dialects.ts";
import { type HeadBytes, headBytes } from "./head-bytes.ts";
import type { MarkPlace } from "./tape.ts";

/** The pieces of a request: head, shared chunks, tail, with cache marks between them. Nothing is copied. */
export function requestBody(view: ChainView, maxTokens: number): readonly Uint8Array[] {
  const serializer = serializerFor(view.head.dialect);
  const head = headBytes(view.head);
  const marks: MarkBytes = { "5m": Buffer.from(serializer.marks["5m"]), "1h": Buffer.from(serializer.marks["1h"]) };
  const ofHead = marks[view.head.cacheLifetime ?? "5m"];
  const pieces = headPieces(head, { mark: ofHead, others: view.marks.length });
  let first = 0;
  for (const chunk of view.chunks) {
    const count = Math.min(chunk.count, view.segments - first);
    if (count <= 0) break;
    writeBytes(chunk, view.head, count);
    // Every segment begins with a comma; the very first of the list must not.
    const start = first === 0 && !head.holdsMessage ? 1 : 0;
    pushChunk(pieces, chunk, { start, count, marks: marksIn(view, { first, count, bytes: marks }) });
    first += count;
  }
  pieces.push(Buffer.from(serializer.end(view.head, maxTokens)));
  return pieces;
}

type MarkBytes = Readonly<Record<CacheLifetime, Uint8Array>>;

/** How long a provider is asked to keep the request up to and with this message; never longer than what is before it. */
export function lifetimeAt({ head, longLived = Number.POSITIVE_INFINITY }: ChainView, segment: number): CacheLifetime {
  return (segment < longLived && head.cacheLifetime) || "5m";
}

const MOST_MARKS = 4;

/** Messages come first where there are not enough marks: what is behind them is more than a list of tools. */
function headPieces(
  { bytes, markAt, toolsMarkAt }: HeadBytes,
  { mark, others }: { readonly mark: Uint8Array; readonly others: number },
): Uint8Array[] {
  const places = mark.length === 0 ? [] : others + 1 < MOST_MARKS ? [toolsMarkAt, markAt] : [markAt];
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const place of places.filter((at) => at >= 0)) {
    pieces.push(bytes.subarray(from, place), mark);
    from = place;
  }
  return [...pieces, bytes.subarray(from)];
}

interface ChunkPart {
  readonly start: number;
  readonly count: number;
  readonly marks: readonly { readonly segment: number; readonly place: MarkPlace; readonly bytes: Uint8Array }[];
}

function pushChunk(pieces: Uint8Array[], { tape }: Chunk, { start, count, marks }: ChunkPart): void {
  let from = start;
  const placed = marks
    .map(({ segment, place, bytes }) => ({ offset: tape.markOffset(segment, place), bytes }))
    .filter(({ offset, bytes }) => offset >= 0 && bytes.length > 0);
  for (const { offset, bytes } of placed.sort((left, right) => left.offset - right.offset)) {
    pieces.push(...tape.views(from, offset), bytes);
    from = offset;
  }
  pieces.push(...tape.views(from, tape.endOf(count - 1)));
}

function marksIn(
  view: ChainView,
  { first, count, bytes }: { readonly first: number; readonly count: number; readonly bytes: MarkBytes },
): ChunkPart["marks"] {
  return view.marks
    .filter(({ segment }) => segment >= first && segment < first + count)
    .map(({ segment, place }) => ({ segment: segment - first, place, bytes: bytes[lifetimeAt(view, segment)] }));
}
