import type { Head, Message } from "../protocol/index.ts";
import { serializerFor } from "./dialects.ts";
import { type Beginning, type MarkPlace, Tape } from "./tape.ts";

/** Consecutive messages and their bytes. A sealed chunk takes no more messages and is shared by every chain that has it. */
export interface Chunk {
  readonly count: number;
  readonly messages: Message[];
  readonly tape: Tape;
}

export interface Mark {
  /** Counted over the whole chain. */
  readonly segment: number;
  readonly place: MarkPlace;
}

/** What a request is made from: a chain as it stood at one moment. */
export interface ChainView {
  readonly head: Head;
  readonly chunks: readonly Chunk[];
  readonly segments: number;
  readonly marks: readonly Mark[];
  /** So many first messages are kept in the cache as long as the head says, what follows for five minutes; absent: all. */
  readonly longLived?: number | undefined;
}

/** Writes the bytes of a chunk's messages up to a count, unless they are there already. */
export function writeBytes(chunk: Chunk, head: Head, count: number): void {
  const { messages, tape } = chunk;
  if (tape.segments >= count) return;
  const serializer = serializerFor(head.dialect);
  const fresh = messages.slice(tape.segments, count).map((message) => serializer.segment(message, head));
  tape.write(fresh);
}

export function emptyChunk(beginning?: Beginning): Chunk {
  const messages: Message[] = [];
  return {
    messages,
    tape: new Tape(beginning),
    get count() {
      return messages.length;
    },
  };
}

/** A sealed one whose bytes are there; its messages are read when somebody wants them. */
export function keptChunk(tape: Tape, read: () => Message[]): Chunk {
  let messages: Message[] | undefined;
  return {
    count: tape.segments,
    tape,
    get messages() {
      messages ??= read();
      return messages;
    },
  };
}
