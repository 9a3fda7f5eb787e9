import { createHash, type Hash } from "node:crypto";
import type { CacheDimension, Head } from "../protocol/index.ts";
import { serializerFor } from "./serialize/dialects.ts";
import type { HeadDimension, HeadText, RequestHead } from "./serialize/serializer.ts";

export interface HeadBytes {
  readonly bytes: Uint8Array;
  readonly markAt: number;
  readonly toolMarks: readonly number[];
  readonly holdsMessage: boolean;
  /** End of each dimension of the cache key in `bytes`, in order of appearance. */
  readonly dimensions: readonly HeadDimension[];
  readonly fingerprints: HeadFingerprints;
}

/**
 * Fingerprints of the dimensions of the cache key that precede the messages. Each covers only the bytes of its
 * dimension.
 */
export type HeadFingerprints = Readonly<Record<Exclude<CacheDimension, "messages">, string>>;

/** Bytes of heads, cached per object. Agents of the same type share one object (see `createResolver` in runs). */
const bytesOfHeads = new WeakMap<Head, HeadBytes>();

/** Returns the bytes of a head, which are created once per object. */
export function headBytes(head: RequestHead): HeadBytes {
  const known = bytesOfHeads.get(head);
  if (known) return known;
  const made = encodeHead(serializerFor(head.dialect).head(head));
  bytesOfHeads.set(head, made);
  return made;
}

/** Returns the number of bytes that precede the messages of a request. */
export function headLength(head: Head): number {
  return headBytes(head).bytes.length;
}

export function headFingerprints(head: Head): HeadFingerprints {
  return headBytes(head).fingerprints;
}

function encodeHead({ text, markAt, toolMarks, holdsMessage, dimensions }: HeadText): HeadBytes {
  const bytes = Buffer.from(text);
  const isAscii = bytes.length === text.length;
  const inBytes = (offset: number): number => (isAscii ? offset : Buffer.byteLength(text.slice(0, offset)));
  const ends = dimensions.map(({ name, end }) => ({ name, end: inBytes(end) }));
  const fingerprints = ends.map(({ name, end }, index) => {
    const own = bytes.subarray(ends[index - 1]?.end ?? 0, end);
    return [name, fingerprintOf(createHash("sha256").update(own))];
  });
  return {
    bytes,
    markAt: markAt < 0 ? -1 : inBytes(markAt),
    toolMarks: toolMarks.map(inBytes),
    holdsMessage,
    dimensions: ends,
    fingerprints: Object.fromEntries(fingerprints) as HeadFingerprints,
  };
}

/** Number of hexadecimal digits in a fingerprint. 64 bits are enough to distinguish the requests of any session. */
const FINGERPRINT_LENGTH = 16;

export function fingerprintOf(hash: Hash): string {
  return hash.digest("hex").slice(0, FINGERPRINT_LENGTH);
}
