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
      `${name} is an image of ${size}; at most ${formatBytes(MAX_IMAGE_BYTES)} can be shown. Make a smaller copy first.`,
    );
  const data = Buffer.from(image.bytes.buffer, image.bytes.byteOffset, image.bytes.byteLength).toString("base64");
  return {
    content: [{ type: "image", mediaType: image.type, data }],
    details: { path: name, mediaType: image.type, bytes: image.bytes.length },
  };
}

/** Detects the type of an image by its first bytes, because file names can be wrong. */
export function imageType(bytes: Uint8Array): ImageBlock["mediaType"] | undefined {
  if (bytes.length < 12) return undefined;
  const [first] = bytes;
  if (first !== 0x89 && first !== 0xff && first !== 0x47 && first !== 0x52) return undefined;
  const start = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  if (start.startsWith("\u0089PNG\r\n\u001a\n")) return "image/png";
  if (start.startsWith("\u00ff\u00d8\u00ff")) return "image/jpeg";
  if (start.startsWith("GIF87a") || start.startsWith("GIF89a")) return "image/gif";
  if (start.startsWith("RIFF") && start.endsWith("WEBP")) return "image/webp";
  return undefined;
}
