import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { homeDirectory, imageType } from "../../lib/index.ts";
import type { ImageBlock } from "../../protocol/index.ts";

/** Larger images are not sent, because providers reject them. */
const MAX_BYTES = 5_000_000;

/** Opening a pipe must not block, and symlinks, which a command may have created, are not followed. */
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Reads an image that the user mentions. Returns undefined if there is no image at this path. Never rejects. */
export async function readImage(path: string, cwd: string): Promise<ImageBlock | undefined> {
  try {
    const file = await open(resolve(cwd, path.replace(/^~(?=\/)/, homeDirectory())), flags);
    try {
      const stat = await file.stat();
      if (!stat.isFile() || stat.size > MAX_BYTES) return undefined;
      const bytes = await file.readFile();
      const mediaType = imageType(bytes);
      return mediaType && { type: "image", mediaType, data: bytes.toString("base64") };
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}
