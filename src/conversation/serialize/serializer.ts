import type { BodyOptions } from "../../ports/index.ts";
import type { CacheLifetime, Head, Message } from "../../protocol/index.ts";

/** Converts neutral messages to the text of one dialect. Pure: the same input always gives the same text. */
export interface Serializer {
  head(head: RequestHead): HeadText;
  /** Returns the text of a message, which begins with a comma. `before` returns the message before it. */
  segment(message: Message, head: Head, before: () => Message | undefined): SegmentText;
  /** Returns the text that closes the request, with the output limit, which may differ from request to request. */
  end(head: RequestHead, maxTokens: number): string;
  /** Text to insert at a cache mark, keyed by lifetime. The text is empty in dialects without marks. */
  readonly marks: Readonly<Record<CacheLifetime, string>>;
}

/**
 * The head of one request. Providers put the schema of the answer before the system text, so a request with a schema
 * reads nothing from the cache.
 */
export interface RequestHead extends Head, BodyOptions {}

export interface HeadText {
  readonly text: string;
  /** Offset of the mark that covers tools and system text, or -1 if there is none. */
  readonly markAt: number;
  /** Offsets of the marks after the tools that agents of different types share, in order. */
  readonly toolMarks: readonly number[];
  /** Whether the list to which segments are appended already contains a message (the system message). */
  readonly holdsMessage: boolean;
  /** End of each dimension of the cache key in `text`, in order of appearance. */
  readonly dimensions: readonly HeadDimension[];
}

export interface HeadDimension {
  readonly name: "tools_model_thinking" | "system" | "system_context" | "user_context";
  readonly end: number;
}

/** A message as wire text. Marks are offsets at which `cache_control` can be inserted, or -1. */
export interface SegmentText {
  readonly text: string;
  /** Offset after the last block. */
  readonly markAt: number;
  /**
   * Offset after the last tool result, the environment and the text for every fork. Sibling forks differ after this
   * point.
   */
  readonly resultsMarkAt: number;
}

/** Returns the parts of the system text in order. Each part is a dimension of the cache key. */
export function systemTexts(head: Head): readonly { readonly name: HeadDimension["name"]; readonly text: string }[] {
  return [
    { name: "system", text: head.system },
    { name: "system_context", text: head.systemContext },
    { name: "user_context", text: head.userContext },
  ];
}
