import { type ChainView, type Chunk, writeBytes } from "./chunk.ts";
import { hashUpTo } from "./hash-messages.ts";
import { headBytes, headFingerprints } from "./head-bytes.ts";

/** A place up to which another request may have the same bytes: it has exactly if it has the same key. */
export interface PrefixPoint {
  readonly key: string;
  /** Of the request up to here, cache marks left out. */
  readonly bytes: number;
}

export interface PrefixPoints {
  /** Behind each dimension that stands before the messages. */
  readonly head: readonly PrefixPoint[];
  /** In order; the last is the whole request. */
  readonly points: readonly PrefixPoint[];
  /** Whether the request has the point that was asked about: `points` are those behind it. */
  readonly continues: boolean;
}

/** Behind each dimension of the head, behind the tool results and behind the end of each message. */
export function prefixPoints(view: ChainView, after?: PrefixPoint): PrefixPoints {
  const { head, chunks, segments } = view;
  const { bytes, dimensions, holdsMessage } = headBytes(head);
  const points: PrefixPoint[] = [];
  const fingerprints = headFingerprints(head);
  let key = `${head.provider} ${head.dialect}`;
  for (const { name, end } of dimensions) {
    key += ` ${fingerprints[name]}`;
    points.push({ key, bytes: end });
  }
  const ofHead = [...points];
  // A conversation that goes on is looked at from where it was.
  const known = after?.key.startsWith(`${key} `) ? after.key.slice(key.length + 1) : undefined;
  let continues = false;
  // Every segment begins with a comma; the very first of the list is sent without.
  let before = bytes.length - (holdsMessage ? 0 : 1);
  let left = segments;
  for (const [index, chunk] of chunks.entries()) {
    const count = Math.min(chunk.count, left);
    if (count <= 0) break;
    writeBytes(chunk, head, count);
    const found = chunkPoints(chunks, { index, count });
    const at = known === undefined ? -1 : found.findLastIndex(({ hash }) => hash === known);
    if (at >= 0) {
      points.length = 0;
      continues = true;
    }
    for (const { end, hash } of found.slice(at + 1)) points.push({ key: `${key} ${hash}`, bytes: before + end });
    before += chunk.tape.endOf(count - 1);
    left -= count;
  }
  return { head: ofHead, points, continues };
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
