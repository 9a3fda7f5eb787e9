import type { Head, OpaqueBlock, ThinkingBlock } from "../protocol/index.ts";

/** Thinking and opaque blocks go back only to the model that wrote them. */
export function isShownTo(block: ThinkingBlock | OpaqueBlock, head: Head): boolean {
  return block.origin.provider === head.provider && block.origin.model === head.model;
}
