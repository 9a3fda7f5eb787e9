import type { Prompt } from "../ports/index.ts";
import type { Head, Message } from "../protocol/index.ts";
import { type ChainView, type Chunk, emptyChunk, keptChunk, type Mark, writeBytes } from "./chunk.ts";
import { hashMessages } from "./hash-messages.ts";
import { requestBody } from "./request-body.ts";
import { type Beginning, Tape } from "./tape.ts";

/** A prompt with the bytes it is made of. */
export interface WrittenPrompt extends Prompt {
  readonly view: ChainView;
  /** Of its messages. Meant to be asked for once its bytes are under way, and before the next request is made. */
  fingerprint(): string;
}

/** A chain with the bytes it has, for another process. */
export interface PackedChain {
  /** JSON. */
  readonly facts: {
    readonly offsets: readonly number[];
    readonly tapeLength: number;
    readonly lastMark?: Mark;
    readonly longLived?: number;
    /** The newest request. */
    readonly prompt?: Pick<ChainView, "segments" | "marks">;
  };
  /** The tape, then the messages as JSON. */
  readonly bytes: readonly Uint8Array[];
}

/**
 * A conversation: a head and messages that are only ever added. Bytes are made once for the head's own model;
 * another head with the same provider and model keeps them, any other starts anew.
 */
export class Chain {
  readonly head: Head;
  private readonly sealed: Chunk[];
  private open: Chunk;
  private lastMark: Mark | undefined;
  private forkMark: Mark | undefined;
  /** A fork does its work and ends: what it adds itself is not worth the price of a long life in the cache. */
  private longLived: number | undefined;

  constructor(head: Head, sealed: readonly Chunk[] = []) {
    this.head = head;
    this.sealed = [...sealed];
    this.open = emptyChunk();
  }

  get length(): number {
    return this.sealed.reduce((sum, chunk) => sum + chunk.count, this.open.count);
  }

  messages(): readonly Message[] {
    return [...this.sealed, this.open].flatMap((chunk) => chunk.messages);
  }

  append(message: Message): void {
    this.open.messages.push(message);
  }

  /** The prompt of the next request. Its newest message is where the request after it will find its cache. */
  request(): WrittenPrompt {
    const segments = this.length;
    const newest: Mark | undefined = segments === 0 ? undefined : { segment: segments - 1, place: "end" };
    const marks = [this.answerMark() ?? this.lastMark, this.forkMark, newest].filter((mark) => mark !== undefined);
    const view: ChainView = {
      head: this.head,
      chunks: this.chunks(),
      segments,
      marks: distinct(marks),
      longLived: this.longLived,
    };
    this.lastMark = newest;
    this.forkMark = undefined;
    return promptOf(view);
  }

  /**
   * Of a fork's first request, instead of the last one: behind the answer it comes from, so that its origin can go on
   * from there. What the origin has sent is found from it, unless the answer has too many blocks for that.
   */
  private answerMark(): Mark | undefined {
    if (this.forkMark === undefined || this.forkMark.segment === 0) return undefined;
    const segment = this.forkMark.segment - 1;
    const answer = messageAt(this.chunks(), segment);
    const isNear = answer?.role === "assistant" && answer.content.length < LOOK_BACK;
    return isNear ? { segment, place: "end" } : undefined;
  }

  /**
   * A chain with the same past. Both go on by themselves; neither copies a byte. Siblings that are given one beginning
   * also share what their first messages begin with.
   */
  fork(beginning?: Beginning): Chain {
    if (this.open.count > 0) {
      // Written now, while there is one owner, so that no branch writes them again.
      this.write(this.open);
      this.sealed.push(this.open);
      this.open = emptyChunk();
    }
    const child = new Chain(this.head, this.sealed);
    if (beginning) child.open = emptyChunk(beginning);
    child.lastMark = this.lastMark;
    child.longLived = Math.min(this.longLived ?? Number.POSITIVE_INFINITY, this.length);
    return child;
  }

  /** Of its messages as bytes, cache marks left out. What was hashed once is not hashed again. */
  fingerprint(): string {
    const { head } = this;
    return hashMessages({ head, chunks: this.chunks(), segments: this.length, marks: [] });
  }

  /**
   * A chain of the newest turns alone, an answer and what led to the next each, with the bytes they had; these words
   * stand for what came before. Undefined where nothing did: there is nothing to leave out.
   */
  newestTurns(turns: number, words: string): Chain | undefined {
    const messages = this.messages();
    const answers = messages.flatMap((_, index) => (canFollowSummary(messages, index) ? [index] : []));
    const from = answers.at(-turns);
    if (from === undefined || from <= 1) return undefined;
    const { chain } = this.compact(words, messages.length - from);
    chain.longLived = 0;
    return chain;
  }

  /** Says that siblings share the newest message up to its results and what every fork is told, and differ behind that. */
  markForkPoint(): void {
    this.forkMark = { segment: this.length - 1, place: "results" };
  }

  /** The same messages under another head. Messages written for the same model keep their bytes. */
  withHead(head: Head): Chain {
    const same =
      head.dialect === this.head.dialect && head.provider === this.head.provider && head.model === this.head.model;
    const next = new Chain(head, same ? this.fork().sealed : []);
    next.longLived = this.longLived;
    if (!same) for (const message of this.messages()) next.append(message);
    return next;
  }

  /**
   * A new chain: the summary, then the newest messages with the bytes they had. Cuts only between turns,
   * so at most `keep` messages stay; `kept` on the answer says how many.
   */
  compact(summary: string, keep: number): { chain: Chain; kept: number } {
    const chain = new Chain(this.head);
    if (this.longLived !== undefined) chain.longLived = 0;
    chain.append({ role: "user", content: [{ type: "text", text: summary }] });
    chain.write(chain.open);
    const from = cutBetweenTurns(this.messages(), keep);
    return { chain, kept: this.copyInto(chain, { from, to: this.length }) };
  }

  /** A chain of the first messages, with the bytes they have. */
  until(count: number): Chain {
    const chain = new Chain(this.head);
    chain.longLived = this.longLived;
    this.copyInto(chain, { from: 0, to: count });
    return chain;
  }

  /** Undefined where it is empty, the prompt is of another chain, or it knows more than a packed one says. */
  pack(newest: WrittenPrompt | undefined): PackedChain | undefined {
    const chunks = this.chunks();
    const isOurs = newest?.head === this.head && newest.view.chunks.every((chunk, index) => chunk === chunks[index]);
    if (this.length === 0 || this.forkMark || (newest && !isOurs)) return undefined;
    const { tape, messages } = this.until(this.length).open;
    const facts = {
      offsets: tape.offsets(),
      tapeLength: tape.length,
      ...(this.lastMark && { lastMark: this.lastMark }),
      ...(this.longLived === undefined ? {} : { longLived: this.longLived }),
      ...(newest && { prompt: { segments: newest.view.segments, marks: newest.view.marks } }),
    };
    return { facts, bytes: [...tape.views(0, tape.length), Buffer.from(JSON.stringify(messages))] };
  }

  static unpack(
    head: Head,
    { offsets, tapeLength, lastMark, longLived, prompt }: PackedChain["facts"],
    bytes: Uint8Array,
  ): { readonly chain: Chain; readonly prompt: WrittenPrompt | undefined } {
    const tape = Tape.restored(bytes.subarray(0, tapeLength), offsets);
    const chunk = keptChunk(tape, () => JSON.parse(Buffer.from(bytes.subarray(tapeLength)).toString("utf8")));
    const chain = new Chain(head, [chunk]);
    chain.lastMark = lastMark;
    chain.longLived = longLived;
    return { chain, prompt: prompt && promptOf({ head, chunks: [chunk], longLived, ...prompt }) };
  }

  private copyInto(chain: Chain, { from, to }: { readonly from: number; readonly to: number }): number {
    let index = 0;
    let copied = 0;
    for (const chunk of this.chunks()) {
      this.write(chunk);
      for (const [position, message] of chunk.messages.entries()) {
        if (index >= from && index < to) {
          chain.append(message);
          chain.open.tape.copy(chunk.tape, position);
          copied += 1;
        }
        index += 1;
      }
    }
    return copied;
  }

  private write(chunk: Chunk): void {
    writeBytes(chunk, this.head, chunk.count);
  }

  private chunks(): readonly Chunk[] {
    return this.open.count === 0 ? [...this.sealed] : [...this.sealed, this.open];
  }
}

function messageAt(chunks: readonly Chunk[], index: number): Message | undefined {
  let left = index;
  for (const chunk of chunks) {
    if (left < chunk.count) return chunk.messages[left];
    left -= chunk.count;
  }
  return undefined;
}

/** Providers look at so many blocks before a mark, its own with them. */
const LOOK_BACK = 20;

function promptOf(view: ChainView): WrittenPrompt {
  const { head } = view;
  let fingerprint: string | undefined;
  return {
    head,
    view,
    fingerprint: () => {
      fingerprint ??= hashMessages(view);
      return fingerprint;
    },
    messages: () => view.chunks.flatMap((chunk) => chunk.messages).slice(0, view.segments),
    body: (dialect, maxTokens) => {
      if (dialect !== head.dialect)
        throw new Error(`this chain is written in ${head.dialect}, not ${dialect}: use withHead`);
      return requestBody(view, maxTokens);
    },
  };
}

function cutBetweenTurns(messages: readonly Message[], keep: number): number {
  let from = Math.max(0, messages.length - Math.max(0, keep));
  while (from < messages.length && !canFollowSummary(messages, from)) from += 1;
  return from;
}

/**
 * Whether the messages from this one on may stand behind a summary, which is a user's turn: an answer and not its
 * continuation after a pause, so that roles alternate and no result is without its call.
 */
export function canFollowSummary(messages: readonly Message[], index: number): boolean {
  return messages[index]?.role === "assistant" && messages[index - 1]?.role === "user";
}

function distinct(marks: readonly Mark[]): readonly Mark[] {
  return marks.filter(
    (mark, index) =>
      !marks.some((other, later) => later > index && other.segment === mark.segment && other.place === mark.place),
  );
}
