import { type ChainView, type Chunk, writeBytes } from "./chunk.ts";
import { serializerFor } from "./dialects.ts";
import { type HeadBytes, headBytes } from "./head-bytes.ts";

/** The pieces of a request: head, shared chunks, tail, with cache marks between them. Nothing is copied. */
export function requestBody(view: ChainView): readonly Uint8Array[] {
  const serializer = serializerFor(view.head.dialect);
  const head = headBytes(view.head);
  const mark = Buffer.from(serializer.mark);
  const pieces = headPieces(head, { mark, others: view.marks.length });
  let first = 0;
  for (const chunk of view.chunks) {
    const count = Math.min(chunk.count, view.segments - first);
    if (count <= 0) break;
    writeBytes(chunk, view.head, count);
    // Every segment begins with a comma; the very first of the list must not.
    const start = first === 0 && !head.holdsMessage ? 1 : 0;
    pushChunk(pieces, chunk, { start, count, mark, marks: marksIn(view, first, count) });
    first += count;
  }
  pieces.push(Buffer.from(serializer.end));
  return pieces;
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
  readonly mark: Uint8Array;
  readonly marks: readonly { segment: number; place: "end" | "results" }[];
}

function pushChunk(pieces: Uint8Array[], { tape }: Chunk, { start, count, mark, marks }: ChunkPart): void {
  let from = start;
  if (mark.length > 0) {
    const offsets = marks.map(({ segment, place }) => tape.markOffset(segment, place)).filter((offset) => offset >= 0);
    for (const offset of offsets.sort((left, right) => left - right)) {
      pieces.push(...tape.views(from, offset), mark);
      from = offset;
    }
  }
  pieces.push(...tape.views(from, tape.endOf(count - 1)));
}

function marksIn(view: ChainView, first: number, count: number): ChunkPart["marks"] {
  return view.marks
    .filter(({ segment }) => segment >= first && segment < first + count)
    .map(({ segment, place }) => ({ segment: segment - first, place }));
}
