import type { Prompt } from "../ports/index.ts";
import type { CacheDimension, Head } from "../protocol/index.ts";
import { headBytes } from "./head-bytes.ts";
import { serializerFor } from "./serialize/dialects.ts";

export interface CacheDifference {
  readonly dimension: CacheDimension;
  /** Offset in the later request, without cache marks. */
  readonly firstDifference: number;
}

/** Returns why the later request can't read all of the earlier one from a cache, or undefined if it can. */
export function cacheDifference(earlier: Prompt, later: Prompt): CacheDifference | undefined {
  const before = withoutMarks(earlier);
  const after = withoutMarks(later);
  const firstDifference = firstDifferingByte(before, after);
  if (firstDifference === undefined) return undefined;
  // If one request lacks a dimension, only the text of the other shows it: the earlier of the two is the cause.
  const candidates = [earlier.head, later.head].map((head) => dimensionAt(head, firstDifference));
  const dimension = order.find((name) => candidates.includes(name)) ?? "messages";
  return { dimension, firstDifference };
}

/** Returns the text around a byte of the request, without cache marks. */
export function excerptAt(prompt: Prompt, byte: number): string {
  const bytes = withoutMarks(prompt).subarray(Math.max(0, byte - 20), byte + 40);
  // Drops characters that were cut in two at either end.
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

/** Returns the part of a request that a longer one continues: without cache marks and closing bytes. */
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
