import { createHash, type Hash, hash } from "node:crypto";
import { type ChainView, type Chunk, writeBytes } from "./chunk.ts";
import { FINGERPRINT_LENGTH } from "./head-bytes.ts";

/** The hash of all messages up to some byte of a chunk; of a sealed chunk in the end up to its last. */
interface Progress {
  readonly hash: Hash;
  /** Bytes of this chunk that are in it. */
  upTo: number;
}

const progressOfChunks = new WeakMap<Chunk, Progress>();

/** The fingerprint of a request's messages, cache marks left out. Hashes only what no earlier request has hashed. */
export function hashMessages({ head, chunks, segments }: ChainView): string {
  let left = segments;
  let last: { readonly index: number; readonly end: number } | undefined;
  for (const [index, chunk] of chunks.entries()) {
    const count = Math.min(chunk.count, left);
    if (count <= 0) break;
    writeBytes(chunk, head, count);
    last = { index, end: chunk.tape.endOf(count - 1) };
    left -= count;
  }
  return last === undefined ? digestOf(createHash(ALGORITHM)) : hashUpTo(chunks, last);
}

/** A byte of one of the chunks: everything before it, in this chunk and the earlier ones. */
export interface ChunkPlace {
  readonly index: number;
  readonly end: number;
}

/** Chunks always follow the same ones, so that what was hashed of one counts for every chain that shares it. */
export function hashUpTo(chunks: readonly Chunk[], { index, end }: ChunkPlace): string {
  const chunk = chunks[index];
  if (chunk === undefined) throw new Error("a place behind the last chunk");
  // To hash few bytes again costs less than to keep a hash that can go on.
  if (index === 0 && end <= FEW_BYTES) return hashOf(chunk.tape.views(0, end));
  let progress = progressOfChunks.get(chunk);
  if (progress === undefined || progress.upTo > end) progress = { hash: hashBefore(chunks, index), upTo: 0 };
  for (const bytes of chunk.tape.views(progress.upTo, end)) progress.hash.update(bytes);
  progress.upTo = end;
  progressOfChunks.set(chunk, progress);
  return digestOf(progress.hash.copy());
}

/** What stands before a chunk is sealed: it is hashed to its end, and once. */
function hashBefore(chunks: readonly Chunk[], index: number): Hash {
  const before = chunks[index - 1];
  if (before === undefined) return createHash(ALGORITHM);
  let progress = progressOfChunks.get(before);
  if (progress === undefined) {
    progress = { hash: hashBefore(chunks, index - 1), upTo: 0 };
    progressOfChunks.set(before, progress);
  }
  for (const bytes of before.tape.views(progress.upTo, before.tape.length)) progress.hash.update(bytes);
  progress.upTo = before.tape.length;
  return progress.hash.copy();
}

const FEW_BYTES = 8 * 1024;
const ALGORITHM = "sha256";

function digestOf(hash: Hash): string {
  return short(hash.digest("hex"));
}

function hashOf(pieces: readonly Uint8Array[]): string {
  const [only = new Uint8Array()] = pieces;
  return short(hash(ALGORITHM, pieces.length > 1 ? Buffer.concat(pieces) : only, "hex"));
}

function short(digest: string): string {
  return digest.slice(0, FINGERPRINT_LENGTH);
}
