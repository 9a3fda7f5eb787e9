import { createHash } from "node:crypto";
import type { Prompt } from "../ports/index.ts";
import type { CacheDimension, Head } from "../protocol/index.ts";
import { type ChainView, writtenChunks } from "./chunk.ts";
import { fingerprintOf, headBytes } from "./head-bytes.ts";
import { serializerFor } from "./serialize/dialects.ts";

/**
 * A position up to which another request may have the same bytes. The other request has them if and only if it has a
 * point with the same key.
 */
export interface PrefixPoint {
  readonly key: string;
  /** Length of the request up to this point, without cache marks. */
  readonly bytes: number;
}

export interface PrefixPoints {
  /** Ends of the shared tools and of the dimensions that precede the messages. */
  readonly head: readonly PrefixPoint[];
  /** Points in order. The last point is the end of the request. */
  readonly points: readonly PrefixPoint[];
  /** Whether the messages of the request contain the given point. If so, `points` contains only the points after it. */
  readonly continues: boolean;
}

/** Returns the ends of the shared tools, of each dimension of the head, of the tool results and of each message. */
export function prefixPoints(view: ChainView, after?: PrefixPoint): PrefixPoints {
  const { bytes, toolMarks, dimensions, fingerprints, holdsMessage } = headBytes(view.head);
  let key = `${view.head.provider} ${view.head.dialect} ${view.head.model}`;
  const head = toolMarks.map((mark): PrefixPoint => {
    // The cache mark of a tool is inserted before its closing brace.
    const shared = bytes.subarray(0, mark + 1);
    return { key: `${key} ${fingerprintOf(createHash("sha256").update(shared))}`, bytes: shared.length };
  });
  for (const { name, end } of dimensions) {
    key += ` ${fingerprints[name]}`;
    head.push({ key, bytes: end });
  }
  const known = after?.key.startsWith(`${key} `) ? after.key.slice(key.length + 1) : undefined;
  const points = [...head];
  let continues = false;
  // Every segment begins with a comma, except that the first one in the list is sent without it.
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

export interface CacheDifference {
  readonly dimension: CacheDimension;
  /** Offset in the later request, without cache marks. */
  readonly firstDifference: number;
}

/**
 * Returns the reason why the later request can't read all of the earlier request from a cache; undefined if there is no
 * such reason.
 */
export function cacheDifference(earlier: Prompt, later: Prompt): CacheDifference | undefined {
  const { dialect, model } = earlier.head;
  if (dialect === "gemini" && model !== later.head.model) {
    // Requests to Gemini name the model outside of their body.
    return { dimension: "tools_model_thinking", firstDifference: 0 };
  }
  const before = withoutMarks(earlier);
  const after = withoutMarks(later);
  const firstDifference = firstDifferingByte(before, after);
  if (firstDifference === undefined) return undefined;
  // If one request lacks a dimension, the two requests have different dimensions at this offset. The dimension that
  // comes first in `order` is the cause.
  const candidates = [earlier.head, later.head].map((head) => dimensionAt(head, firstDifference));
  const dimension = order.find((name) => candidates.includes(name)) ?? "messages";
  return { dimension, firstDifference };
}

/** Returns the text around a byte of the request, without cache marks. */
export function excerptAt(prompt: Prompt, byte: number): string {
  const bytes = withoutMarks(prompt).subarray(Math.max(0, byte - 20), byte + 40);
  // Removes characters that were cut in half at either end.
  return bytes.toString("utf8").replace(/^\uFFFD+|\uFFFD+$/g, "");
}

const order: readonly CacheDimension[] = [
  "tools_model_thinking",
  "system",
  "system_context",
  "user_context",
  "messages",
];

function dimensionAt(head: Head, offset: number): CacheDimension {
  return headBytes(head).dimensions.find(({ end }) => offset < end)?.name ?? "messages";
}

/** Returns the part of a request that a longer request can continue, which excludes cache marks and closing bytes. */
function withoutMarks({ head, body }: Prompt): Buffer {
  const { dialect } = head;
  const marks = Object.values(serializerFor(dialect).marks).map((mark) => Buffer.from(mark));
  const isMark = (piece: Uint8Array): boolean => piece.length > 0 && marks.some((mark) => mark.equals(piece));
  const bytes = Buffer.concat(body(dialect, 0).filter((piece) => !isMark(piece)));
  return bytes.subarray(0, bytes.length - serializerFor(dialect).end(head, 0).length);
}

function firstDifferingByte(prefix: Uint8Array, whole: Uint8Array): number | undefined {
  const shared = Math.min(prefix.length, whole.length);
  for (let index = 0; index < shared; index += 1) if (prefix[index] !== whole[index]) return index;
  return prefix.length <= whole.length ? undefined : shared;
}
