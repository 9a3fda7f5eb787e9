import { createHash } from "node:crypto";
import type { CacheDimension, Head } from "../protocol/index.ts";
import { serializerFor } from "./dialects.ts";
import type { HeadDimension, HeadText } from "./serializer.ts";

export interface HeadBytes {
  readonly bytes: Uint8Array;
  readonly markAt: number;
  readonly toolsMarkAt: number;
  readonly holdsMessage: boolean;
  /** Where each dimension of the cache key ends in `bytes`, in order of appearance. */
  readonly dimensions: readonly HeadDimension[];
}

const bytesOfHeads = new WeakMap<Head, HeadBytes>();

/** One buffer per head, however many agents stand on it. */
export function headBytes(head: Head): HeadBytes {
  const known = bytesOfHeads.get(head);
  if (known) return known;
  const made = encodeHead(serializerFor(head.dialect).head(head));
  bytesOfHeads.set(head, made);
  return made;
}

/** How many bytes of a request stand before its messages. */
export function headLength(head: Head): number {
  return headBytes(head).bytes.length;
}

export type HeadFingerprints = Readonly<Record<Exclude<CacheDimension, "messages">, string>>;

const fingerprintsOfHeads = new WeakMap<Head, HeadFingerprints>();

/** Of the dimensions that stand before the messages, each of its own bytes. */
export function headFingerprints(head: Head): HeadFingerprints {
  const known = fingerprintsOfHeads.get(head);
  if (known) return known;
  const { bytes, dimensions } = headBytes(head);
  const made: Partial<Record<HeadDimension["name"], string>> = {};
  let from = 0;
  for (const { name, end } of dimensions) {
    made[name] = createHash("sha256").update(bytes.subarray(from, end)).digest("hex").slice(0, FINGERPRINT_LENGTH);
    from = end;
  }
  const fingerprints = made as HeadFingerprints;
  fingerprintsOfHeads.set(head, fingerprints);
  return fingerprints;
}

/** Hexadecimal digits: 64 bits tell the requests of any session apart. */
export const FINGERPRINT_LENGTH = 16;

function encodeHead({ text, markAt, toolsMarkAt, holdsMessage, dimensions }: HeadText): HeadBytes {
  const bytes = Buffer.from(text);
  const plain = bytes.length === text.length;
  const inBytes = (offset: number): number => (plain ? offset : Buffer.byteLength(text.slice(0, offset)));
  return {
    bytes,
    markAt: markAt < 0 ? -1 : inBytes(markAt),
    toolsMarkAt: toolsMarkAt < 0 ? -1 : inBytes(toolsMarkAt),
    holdsMessage,
    dimensions: dimensions.map(({ name, end }) => ({ name, end: inBytes(end) })),
  };
}
