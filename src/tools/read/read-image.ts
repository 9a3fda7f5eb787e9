import { formatBytes } from "../../lib/index.ts";
import type { ToolOutput } from "../../ports/index.ts";
import type { ImageBlock } from "../../protocol/index.ts";
import { failed } from "../shared/failed.ts";

/** Maximum size of an image. Providers accept 5 MB of base64. */
export const MAX_IMAGE_BYTES = 3_750_000;

export function readImage(
  name: string,
  image: { readonly type: ImageBlock["mediaType"]; readonly bytes: Uint8Array },
): ToolOutput {
  const size = formatBytes(image.bytes.length);
  if (image.bytes.length > MAX_IMAGE_BYTES)
    return failed(
      `${name} is a ${size} image; at most ${formatBytes(MAX_IMAGE_BYTES)} can be shown. Make a smaller copy first.`,
    );
  const data = Buffer.from(image.bytes.buffer, image.bytes.byteOffset, image.bytes.byteLength).toString("base64");
  return {
    content: [{ type: "image", mediaType: image.type, data }],
    details: { path: name, mediaType: image.type, bytes: image.bytes.length },
  };
}
