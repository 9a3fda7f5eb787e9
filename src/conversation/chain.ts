import type { Prompt } from "../ports/index.ts";
import type { Head, Message, OpaqueBlock } from "../protocol/index.ts";
import { type ChainView, Chunk, type Mark, messagesFingerprint } from "./chunk.ts";
import { isSameModel } from "./continued-head.ts";
import { requestBody } from "./request-body.ts";
import { SegmentBuffer, type SharedPrefix } from "./segment-buffer.ts";
import { precedeAlike, sendsThinking, withoutThinking } from "./thinking.ts";

/** A prompt and its bytes. */
export interface WrittenPrompt extends Prompt {
  readonly view: ChainView;
  /**
   * Returns the fingerprint of the messages. Call it after the bytes are sent and before the next request is created.
   */
  fingerprint(): string;
}

/** A chain and its bytes, in a form that can be stored for another process. */
export interface PackedChain {
  /** Plain JSON. */
  readonly facts: {
    readonly offsets: readonly number[];
    readonly bytesLength: number;
    readonly lastMark?: Mark | undefined;
    readonly longLived?: number | undefined;
    /** The newest request. */
    readonly prompt?: Pick<ChainView, "segments" | "marks"> | undefined;
  };
  /** The segments, followed by the messages as JSON. */
  readonly bytes: readonly Uint8Array[];
}

/**
 * A conversation: a head, and messages that are only ever appended. Messages are serialized once, for the head's model.
 * A new head with the same provider and model keeps the bytes; for any other head, the messages are serialized again.
 *
 * All thinking in a chain was written after exactly the tools, system text and messages that precede it there. A chain
 * that is made from another one, but with something else before its messages, therefore begins without thinking.
 */
export class Chain {
  readonly head: Head;
  private readonly sealed: Chunk[];
  private open: Chunk;
  private lastMark: Mark | undefined;
  private forkMark: Mark | undefined;
  /**
   * Number of messages that are worth the price of a long cache lifetime. A fork ends soon, so its own messages are not
   * counted.
   */
  private longLived: number | undefined;

  constructor(head: Head, sealed: readonly Chunk[] = []) {
    this.head = head;
    this.sealed = [...sealed];
    this.open = Chunk.empty(sealed.at(-1));
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

  /**
   * Returns the prompt of the next request. The newest message is marked, so that the following request can read
   * everything up to it from the cache.
   */
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
   * Returns the cache mark that replaces the previous one in a fork's first request. It is placed after the response
   * that created the fork, so that the parent can continue from there. The provider looks back from this mark to find
   * the parent's cached requests, which fails if the response has too many blocks.
   */
  private answerMark(): Mark | undefined {
    if (this.forkMark === undefined || this.forkMark.segment === 0) return undefined;
    const segment = this.forkMark.segment - 1;
    const answer = messageAt(this.chunks(), segment);
    const isNear = answer?.role === "assistant" && answer.content.length < LOOK_BACK;
    return isNear ? { segment, place: "end" } : undefined;
  }

  /**
   * Returns a chain that shares all messages so far. No bytes are copied. Siblings with the same prefix also share the
   * beginning of their first messages.
   */
  fork(prefix?: SharedPrefix): Chain {
    if (this.open.count > 0) {
      // Messages are written now, while the chunk has one owner, so that no branch writes them again.
      this.open.write(this.head);
      this.sealed.push(this.open);
      this.open = Chunk.empty(this.open);
    }
    const child = new Chain(this.head, this.sealed);
    if (prefix) child.open = Chunk.empty(this.sealed.at(-1), prefix);
    child.lastMark = this.lastMark;
    child.longLived = Math.min(this.longLived ?? Number.POSITIVE_INFINITY, this.length);
    return child;
  }

  /** Returns an independent chain that begins with the same messages and marks. No bytes are copied. */
  copy(): Chain {
    const copy = this.fork();
    copy.forkMark = this.forkMark;
    copy.longLived = this.longLived;
    return copy;
  }

  /** Returns the fingerprint of the messages' bytes, without cache marks. */
  fingerprint(): string {
    return messagesFingerprint({ head: this.head, chunks: this.chunks(), segments: this.length, marks: [] });
  }

  /**
   * Returns a chain with only the newest turns, without their thinking. A turn is a response and the user turn after
   * it. `placeholder` replaces all earlier turns. Returns undefined if there are no earlier turns.
   */
  newestTurns(turns: number, placeholder: string): Chain | undefined {
    const messages = this.messages();
    const answers = messages.flatMap((_, index) => (canFollowSummary(messages, index) ? [index] : []));
    const from = answers.at(-turns);
    if (from === undefined || from <= 1) return undefined;
    const { chain } = this.compact(placeholder, messages.length - from);
    chain.longLived = 0;
    return chain;
  }

  /**
   * Marks the end of the part that sibling forks share: the newest message up to and including its results, the
   * environment and the text for every fork.
   */
  markSiblings(): void {
    this.forkMark = { segment: this.length - 1, place: "results" };
  }

  /**
   * Returns a chain with the same messages and another head. The bytes of the messages are kept if the model is the
   * same. Thinking is kept if the tools and the system text are the same.
   */
  withHead(head: Head): Chain {
    const same = isSameModel(head, this.head);
    // Another model may not be able to read a summary by the provider.
    const isValid = precedeAlike(head, this.head) && (same || !this.isCompacted());
    const before = isValid ? this : this.withoutThinking();
    const next = new Chain(head, same ? before.fork().sealed : []);
    next.longLived = this.longLived;
    if (!same) for (const message of before.messages()) next.append(message);
    return next;
  }

  /** Returns whether the conversation begins with a summary by the provider. */
  isCompacted(): boolean {
    return startsCompacted(this.head, this.chunks());
  }

  get hasThinking(): boolean {
    return this.messages().some((message) => withoutThinking(message) !== message);
  }

  /** Returns a chain without thinking; this chain if it has none. */
  withoutThinking(): Chain {
    if (!this.hasThinking) return this;
    const chain = new Chain(this.head);
    chain.longLived = this.longLived;
    this.copyInto(chain, { from: 0, to: this.length, thinking: false });
    return chain;
  }

  /**
   * Returns a new chain that consists of the summary and the newest messages. Their thinking is left out, unless the
   * summary is the provider's own block. The messages are cut between turns, so at most `keep` of them are kept; `kept`
   * is the actual number.
   */
  compact(summary: string | OpaqueBlock, keep: number): { chain: Chain; kept: number } {
    const chain = new Chain(this.head);
    if (this.longLived !== undefined) chain.longLived = 0;
    const isText = typeof summary === "string";
    if (isText) chain.append({ role: "user", content: [{ type: "text", text: summary }] });
    else chain.append({ role: "assistant", content: [summary] });
    chain.open.write(chain.head);
    const from = cutBetweenTurns(this.messages(), keep);
    return { chain, kept: this.copyInto(chain, { from, to: this.length, thinking: !isText }) };
  }

  /** Returns a chain with the first `count` messages and their existing bytes. */
  until(count: number): Chain {
    const chain = new Chain(this.head);
    chain.longLived = this.longLived;
    this.copyInto(chain, { from: 0, to: count, thinking: true });
    return chain;
  }

  /**
   * Packs the chain for storage. Returns undefined if the chain is empty, the prompt belongs to another chain, or a
   * fork mark is set (fork marks can't be packed).
   */
  pack(newest: WrittenPrompt | undefined): PackedChain | undefined {
    const chunks = this.chunks();
    const isOurs = newest?.head === this.head && newest.view.chunks.every((chunk, index) => chunk === chunks[index]);
    if (this.length === 0 || this.forkMark || (newest && !isOurs)) return undefined;
    const { buffer, messages } = this.until(this.length).open;
    const facts = {
      offsets: buffer.offsets(),
      bytesLength: buffer.length,
      lastMark: this.lastMark,
      longLived: this.longLived,
      prompt: newest && { segments: newest.view.segments, marks: newest.view.marks },
    };
    return { facts, bytes: [...buffer.views(0, buffer.length), Buffer.from(JSON.stringify(messages))] };
  }

  static unpack(
    head: Head,
    { offsets, bytesLength, lastMark, longLived, prompt }: PackedChain["facts"],
    bytes: Uint8Array,
  ): { readonly chain: Chain; readonly prompt: WrittenPrompt | undefined } {
    const buffer = SegmentBuffer.restored(bytes.subarray(0, bytesLength), offsets);
    const chunk = Chunk.restored(buffer, () => JSON.parse(Buffer.from(bytes.subarray(bytesLength)).toString("utf8")));
    const chain = new Chain(head, [chunk]);
    chain.lastMark = lastMark;
    chain.longLived = longLived;
    return { chain, prompt: prompt && promptOf({ head, chunks: [chunk], longLived, ...prompt }) };
  }

  /** Copies messages to another chain with the same head. Bytes are produced again only if thinking is left out. */
  private copyInto(chain: Chain, { from, to, thinking }: CopiedMessages): number {
    let index = 0;
    let copied = 0;
    for (const chunk of this.chunks()) {
      chunk.write(this.head);
      for (const [position, message] of chunk.messages.entries()) {
        if (index >= from && index < to) {
          chain.append(thinking ? message : withoutThinking(message));
          if (thinking || !sendsThinking(message, this.head)) chain.open.buffer.copy(chunk.buffer, position);
          else chain.open.write(chain.head);
          copied += 1;
        }
        index += 1;
      }
    }
    return copied;
  }

  private chunks(): readonly Chunk[] {
    return this.open.count === 0 ? [...this.sealed] : [...this.sealed, this.open];
  }
}

interface CopiedMessages {
  readonly from: number;
  readonly to: number;
  readonly thinking: boolean;
}

function messageAt(chunks: readonly Chunk[], index: number): Message | undefined {
  let left = index;
  for (const chunk of chunks) {
    if (left < chunk.count) return chunk.messages[left];
    left -= chunk.count;
  }
  return undefined;
}

/** Number of blocks before a mark in which providers look for an earlier cache entry. */
const LOOK_BACK = 20;

function promptOf(view: ChainView): WrittenPrompt {
  const { head } = view;
  let fingerprint: string | undefined;
  return {
    head,
    view,
    fingerprint: () => {
      fingerprint ??= messagesFingerprint(view);
      return fingerprint;
    },
    isCompacted: () => startsCompacted(head, view.chunks),
    messages: () => view.chunks.flatMap((chunk) => chunk.messages).slice(0, view.segments),
    body: (dialect, maxTokens, options) => {
      if (dialect !== head.dialect)
        throw new Error(`this chain is written in ${head.dialect}, not ${dialect}; use withHead`);
      return requestBody(view, maxTokens, options);
    },
  };
}

/** Only a conversation that the provider has summarized begins with a message from the model. */
function startsCompacted(head: Head, [first]: readonly Chunk[]): boolean {
  if (first === undefined || head.dialect !== "anthropic") return false;
  first.write(head, 1);
  const [start] = first.buffer.views(0, OPENING.length);
  return start !== undefined && Buffer.from(start).toString("latin1") === OPENING;
}

const OPENING = ',{"role":"assistant"';

function cutBetweenTurns(messages: readonly Message[], keep: number): number {
  let from = Math.max(0, messages.length - Math.max(0, keep));
  while (from < messages.length && !canFollowSummary(messages, from)) from += 1;
  return from;
}

/**
 * Returns whether the messages from this index on can follow a summary, which is a user turn. The first of them must be
 * a response, and not the continuation of a paused response, so that roles alternate and every result has its call.
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
