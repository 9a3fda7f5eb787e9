import { isRecord } from "../../lib/index.ts";
import type { UserBlock } from "../../protocol/index.ts";

/** Converts text to a prompt's content. Blank text becomes an empty list. */
export function textBlocks(text: string): readonly UserBlock[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

const imageTypes: readonly unknown[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Returns whether a value is a list of text and image blocks. */
export function isPromptContent(value: unknown): value is readonly UserBlock[] {
  return Array.isArray(value) && value.every(isPromptBlock);
}

/** Describes the first block that can't be part of a prompt or a result; undefined if all blocks can. */
export function wrongBlock(blocks: readonly unknown[]): string | undefined {
  const index = blocks.findIndex((block) => !isPromptBlock(block));
  if (index === -1) return undefined;
  const block = blocks[index];
  const type = isRecord(block) ? block["type"] : undefined;
  const isKnown = type === "text" || type === "image";
  return isKnown
    ? `block ${index} is not a valid ${type} block`
    : `block ${index} has the type ${JSON.stringify(type)}`;
}

function isPromptBlock(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { type, text, mediaType, data } = value;
  return type === "text"
    ? typeof text === "string"
    : type === "image" && imageTypes.includes(mediaType) && typeof data === "string";
}
