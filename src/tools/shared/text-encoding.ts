import { isUtf8 } from "node:buffer";

/**
 * Encoding of a file's text. Latin-1 is used for all unknown encodings. In that case, some letters may be wrong, but
 * every byte that an edit does not touch is preserved.
 */
export type Encoding = "utf-8" | "utf-8-bom" | "utf-16le" | "utf-16be" | "latin1";

/** Describes content that is not text. */
type NoText = { readonly ok: false; readonly what: string };

export type Decoded = { readonly ok: true; readonly text: string; readonly encoding: Encoding } | NoText;

/** Decodes text without its byte order mark and keeps line breaks. Encoding the text again produces the same bytes. */
export function decodeText(bytes: Uint8Array): Decoded {
  const found = detectEncoding(bytes);
  if (!found.ok) return found;
  const { encoding } = found;
  return { ok: true, text: decodeAs(encoding, bytes.subarray(markLength[encoding])), encoding };
}

export function detectEncoding(bytes: Uint8Array): { readonly ok: true; readonly encoding: Encoding } | NoText {
  const [first, second, third] = bytes;
  if (first === 0xff && second === 0xfe && bytes.length % 2 === 0) return { ok: true, encoding: "utf-16le" };
  if (first === 0xfe && second === 0xff && bytes.length % 2 === 0) return { ok: true, encoding: "utf-16be" };
  if (looksBinary(bytes)) return { ok: false, what: describeBinary(bytes) };
  if (!isUtf8(bytes)) return { ok: true, encoding: "latin1" };
  const hasMark = first === 0xef && second === 0xbb && third === 0xbf;
  return { ok: true, encoding: hasMark ? "utf-8-bom" : "utf-8" };
}

/** Length of the byte order mark in bytes. */
export const markLength: Record<Encoding, number> = {
  "utf-8": 0,
  "utf-8-bom": 3,
  "utf-16le": 2,
  "utf-16be": 2,
  latin1: 0,
};

/** Decodes bytes that follow the byte order mark. */
export function decodeAs(encoding: Encoding, bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (encoding === "utf-16le") return buffer.toString("utf16le");
  if (encoding === "utf-16be") return Buffer.from(buffer).swap16().toString("utf16le");
  return buffer.toString(encoding === "latin1" ? "latin1" : "utf8");
}

/** Encodes text. Returns undefined if the encoding can't represent one of its characters. */
export function encodeText(text: string, encoding: Encoding): Uint8Array | undefined {
  if (encoding === "utf-8") return Buffer.from(text, "utf8");
  if (encoding === "utf-8-bom") return Buffer.from(`\ufeff${text}`, "utf8");
  if (encoding === "utf-16le") return Buffer.from(`\ufeff${text}`, "utf16le");
  if (encoding === "utf-16be") return Buffer.from(`\ufeff${text}`, "utf16le").swap16();
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0xff) return undefined;
  return Buffer.from(text, "latin1");
}

export function looksBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 8192).includes(0);
}

const signatures: readonly (readonly [start: string, what: string])[] = [
  ["%PDF-", "a PDF document (try `pdftotext FILE -` with Bash)"],
  ["PK\u0003\u0004", "a zip archive or office document (try `unzip -l` with Bash)"],
  ["\u001f\u008b", "gzip-compressed data (try `zcat` with Bash)"],
  ["\u007fELF", "an executable program"],
  ["SQLite format 3", "an SQLite database (try `sqlite3` with Bash)"],
];

export function describeBinary(bytes: Uint8Array): string {
  const start = Buffer.from(bytes.subarray(0, 16)).toString("latin1");
  return signatures.find(([signature]) => start.startsWith(signature))?.[1] ?? "binary data";
}

/** Returns true if most lines of the text end in CRLF. */
export function usesCrlf(text: string): boolean {
  if (!text.includes("\r\n")) return false;
  const crlf = text.split("\r\n").length - 1;
  return crlf * 2 > text.split("\n").length - 1;
}

export function toCrlf(text: string): string {
  return toLf(text).replaceAll("\n", "\r\n");
}

export function toLf(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
