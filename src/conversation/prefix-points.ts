import { type ChainView, type Chunk, writeBytes } from "./chunk.ts";
import { hashUpTo } from "./hash-messages.ts";
import { headBytes, headFingerprints } from "./head-bytes.ts";

/** A place up to which another request may have the same bytes: it has exactly if it has the same key. */
export interface PrefixPoint {
  readonly key: string;
  /** Of the request up to here, cache marks left out. */
  readonly bytes: number;
}

/** Behind each dimension of the head, behind the tool results and behind the end of each message; the last is the whole. */
export function prefixPoints(view: ChainView): readonly PrefixPoint[] {
  const { head, chunks, segments } = view;
  const points: PrefixPoint[] = [];
  const { bytes, dimensions, holdsMessage } = headBytes(head);
  const fingerprints = headFingerprints(head);
  let key = `${head.provider} ${head.dialect}`;
  for (const { name, end } of dimensions) {
    key += ` ${fingerprints[name]}`;
    points.push({ key, bytes: end });
  }
  // Every segment begins with a comma; the very first of the list is sent without.
  let before = bytes.length - (holdsMessage ? 0 : 1);
  let left = segments;
  for (const [index, chunk] of chunks.entries()) {
    const count = Math.min(chunk.messages.length, left);
    if (count <= 0) break;
    writeBytes(chunk, head, count);
    for (const { end, hash } of chunkPoints(chunks, { index, count }))
      points.push({ key: `${key} ${hash}`, bytes: before + end });
    before += chunk.tape.endOf(count - 1);
    left -= count;
  }
  return points;
}

interface ChunkPoint {
  readonly end: number;
  readonly hash: string;
}

interface ChunkPoints {
  readonly points: ChunkPoint[];
  /** How many points there are with the n-th segment. */
  readonly counts: number[];
}

const pointsOfChunks = new WeakMap<Chunk, ChunkPoints>();

function chunkPoints(
  chunks: readonly Chunk[],
  { index, count }: { readonly index: number; readonly count: number },
): readonly ChunkPoint[] {
  const chunk = chunks[index];
  if (chunk === undefined) return [];
  const known = pointsOfChunks.get(chunk) ?? { points: [], counts: [] };
  pointsOfChunks.set(chunk, known);
  const { points, counts } = known;
  const { tape } = chunk;
  const add = (end: number): void => void points.push({ end, hash: hashUpTo(chunks, { index, end }) });
  for (let segment = counts.length; segment < count; segment += 1) {
    const results = tape.markOffset(segment, "results");
    if (results >= 0 && results !== tape.markOffset(segment, "end")) add(results);
    add(tape.endOf(segment));
    counts.push(points.length);
  }
  return points.slice(0, counts[count - 1]);
}
