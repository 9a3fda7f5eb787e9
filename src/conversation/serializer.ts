import type { CacheLifetime, Head, Message } from "../protocol/index.ts";

/** Turns neutral words into the bytes of one wire dialect. Pure: the same input gives the same bytes for ever. */
export interface Serializer {
  head(head: Head): HeadText;
  /** Begins with a comma. */
  segment(message: Message, head: Head): SegmentText;
  /** Closes the request. The output limit stands here, because it may differ from request to request. */
  end(head: Head, maxTokens: number): string;
  /** Inserted at a mark, by how long it is to be kept; empty for dialects that cache by themselves. */
  readonly marks: Readonly<Record<CacheLifetime, string>>;
}

export interface HeadText {
  readonly text: string;
  /** Where the mark that covers tools and system goes, -1 if nowhere. */
  readonly markAt: number;
  /** Behind the tools that agents have in common with those they work for, -1 if nowhere. */
  readonly toolsMarkAt: number;
  /** Whether a message (the system message) already stands in the list that segments continue. */
  readonly holdsMessage: boolean;
  /** Where each dimension of the cache key ends in `text`, in order of appearance. */
  readonly dimensions: readonly HeadDimension[];
}

export interface HeadDimension {
  readonly name: "tools_model_thinking" | "system" | "system_context" | "user_context";
  readonly end: number;
}

/** A segment as wire text; marks are positions in it where `cache_control` may be inserted, -1 where none may. */
export interface SegmentText {
  readonly text: string;
  /** Behind the last block. */
  readonly markAt: number;
  /** Behind the last tool result, and what every fork is told: where siblings part. */
  readonly resultsMarkAt: number;
}

/** The texts of a head that come as system words, in order; each is a dimension of the cache key. */
export function systemTexts(head: Head): readonly { readonly name: HeadDimension["name"]; readonly text: string }[] {
  return [
    { name: "system", text: head.system },
    { name: "system_context", text: head.systemContext },
    { name: "user_context", text: head.userContext },
  ];
}
