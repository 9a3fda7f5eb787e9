import { isUtf8 } from "node:buffer";

export type TextEncoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

export interface EncodedText {
  readonly encoding: TextEncoding;
  /** Bytes of the byte order mark. */
  readonly offset: number;
}

/** What is neither marked nor valid UTF-8 is read as Windows-1252, which every sequence of bytes is. */
export function detectEncoding(bytes: Uint8Array): EncodedText {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { encoding: "utf-16le", offset: 2 };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: "utf-16be", offset: 2 };
  if (bytes[0] === 0x2d && bytes[1] === 0 && bytes[2] === 0x2d) return { encoding: "utf-16le", offset: 0 };
  if (bytes[0] === 0 && bytes[1] === 0x2d && bytes[2] === 0) return { encoding: "utf-16be", offset: 0 };
  const offset = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  if (!isUtf8(bytes)) return { encoding: "windows-1252", offset };
  return offset === 0 ? usual : { encoding: "utf-8", offset };
}

const usual: EncodedText = { encoding: "utf-8", offset: 0 };

/** The text with every line end as `\n`. `limit`: read only about so many bytes of it. */
export function decodeText(bytes: Uint8Array, { encoding, offset }: EncodedText, limit = bytes.length): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = offset + limit;
  const text =
    encoding === "utf-8"
      ? buffer.toString("utf8", offset, end)
      : new TextDecoder(encoding).decode(buffer.subarray(offset, end));
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}
