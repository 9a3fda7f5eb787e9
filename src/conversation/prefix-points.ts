import { type ChainView, writtenChunks } from "./chunk.ts";
import { headBytes } from "./head-bytes.ts";

/** A place up to which another request may have the same bytes. It has them exactly if it has a point with this key. */
export interface PrefixPoint {
  readonly key: string;
  /** Length of the request up to here, without cache marks. */
  readonly bytes: number;
}

export interface PrefixPoints {
  /** Ends of the dimensions before the messages. */
  readonly head: readonly PrefixPoint[];
  /** In order; the last is the end of the request. */
  readonly points: readonly PrefixPoint[];
  /** Whether the request contains the given point. If so, `points` are only those after it. */
  readonly continues: boolean;
}

/** Returns the ends of each dimension of the head, of the tool results and of each message. */
export function prefixPoints(view: ChainView, after?: PrefixPoint): PrefixPoints {
  const { bytes, dimensions, fingerprints, holdsMessage } = headBytes(view.head);
  const head: PrefixPoint[] = [];
  let key = `${view.head.provider} ${view.head.dialect}`;
  for (const { name, end } of dimensions) {
    key += ` ${fingerprints[name]}`;
    head.push({ key, bytes: end });
  }
  const known = after?.key.startsWith(`${key} `) ? after.key.slice(key.length + 1) : undefined;
  const points = [...head];
  let continues = false;
  // Every segment begins with a comma; the first of the list is sent without it.
  let before = bytes.length - (holdsMessage ? 0 : 1);
  for (const { chunk, count } of writtenChunks(view)) {
    const ends = chunk.hashedEnds(count);
    const at = known === undefined ? -1 : ends.findLastIndex(({ hash }) => hash === known);
    if (at >= 0) {
      points.length = 0;
      continues = true;
    }
    for (const { end, hash } of ends.slice(at + 1)) points.push({ key: `${key} ${hash}`, bytes: before + end });
    before += chunk.buffer.endOf(count - 1);
  }
  return { head, points, continues };
}
