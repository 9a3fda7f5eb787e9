import type { AssistantBlock, OpaqueBlock, Origin } from "../protocol/index.ts";
import type { PromptPart, ProviderData } from "./ai-sdk-types.ts";

/**
 * What a provider must get back although Retinue has no block for it. It is stored in opaque blocks. Those that may
 * contain signatures have the type `reasoning`, so that they are dropped wherever thinking is.
 */
export type Kept =
  /** Data of the text or call in the next block, and the provider's own id of the call. */
  | { readonly type: "reasoning"; readonly next: ProviderData; readonly toolCallId?: string | undefined }
  /** A part that is sent back as it is, such as a call that the provider has executed itself. */
  | { readonly type: "reasoning" | "part"; readonly part: PromptPart }
  /** A request for an approval that only the provider knows about. */
  | { readonly type: "approval"; readonly approvalId: string };

export function keep(kept: Kept, origin: Origin): OpaqueBlock {
  return { type: "opaque", json: JSON.stringify(kept), origin };
}

/** Returns what an opaque block keeps; undefined if another model wrote it. */
export function keptIn(block: AssistantBlock, origin: Origin): Kept | undefined {
  return block.type === "opaque" && isOwn(block, origin) ? (JSON.parse(block.json) as Kept) : undefined;
}

export function isOwn({ origin }: { readonly origin: Origin }, own: Origin): boolean {
  return origin.provider === own.provider && origin.model === own.model;
}
