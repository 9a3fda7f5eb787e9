import type { Prompt } from "../ports/index.ts";
import type { CacheDimension, Head } from "../protocol/index.ts";
import { serializerFor } from "./dialects.ts";
import { headBytes } from "./head-bytes.ts";

export interface CacheDifference {
  readonly dimension: CacheDimension;
  /** Byte of the later request, cache marks left out. */
  readonly firstDifference: number;
}

/** Why the later request can't read all of the earlier one from a cache, or undefined where it can. */
export function cacheDifference(earlier: Prompt, later: Prompt): CacheDifference | undefined {
  const before = withoutMarks(earlier);
  const after = withoutMarks(later);
  const firstDifference = firstDifferingByte(before, after);
  if (firstDifference === undefined) return undefined;
  // What one of them leaves out shows in the other's text: the earlier dimension of the two is the cause.
  const candidates = [earlier.head, later.head].map((head) => dimensionAt(head, firstDifference));
  const dimension = order.find((name) => candidates.includes(name)) ?? "messages";
  return { dimension, firstDifference };
}

/** What stands at a byte of the request, cache marks left out, with a little of what comes before it. */
export function excerptAt(prompt: Prompt, byte: number): string {
  const bytes = withoutMarks(prompt).subarray(Math.max(0, byte - 20), byte + 40);
  // A character that was cut in two at either end is no part of it.
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

/** The part of a request that a longer one continues: without cache marks and without the closing bytes. */
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
