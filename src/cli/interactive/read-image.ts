import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { extname, resolve } from "node:path";
import type { ImageBlock } from "../../protocol/index.ts";

/** Larger images are not sent. Providers refuse them. */
const MAX_BYTES = 5_000_000;

const types: Readonly<Record<string, ImageBlock["mediaType"]>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

/** Reads an image that the user mentions. Returns undefined if there is none at this path. Never rejects. */
export async function readImage(path: string, cwd: string): Promise<ImageBlock | undefined> {
  const mediaType = types[extname(path).toLowerCase()];
  const file = resolve(cwd, path.replace(/^~(?=\/)/, homedir()));
  if (mediaType === undefined) return undefined;
  try {
    const { size } = await stat(file);
    if (size > MAX_BYTES) return undefined;
    return { type: "image", mediaType, data: (await readFile(file)).toString("base64") };
  } catch {
    return undefined;
  }
}
