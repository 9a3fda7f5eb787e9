import { isUtf8 } from "node:buffer";

/** Latin-1 stands for every unknown single- or multi-byte encoding: wrong letters perhaps, but each byte survives an edit. */
export type Encoding = "utf-8" | "utf-8-bom" | "utf-16le" | "utf-16be" | "latin1";

export type Decoded =
  | { readonly ok: true; readonly text: string; readonly encoding: Encoding }
  /** What it is instead of text, in words. */
  | { readonly ok: false; readonly what: string };

/** The text without byte order mark, line ends as they are. Encoding it again gives the same bytes. */
export function decodeText(bytes: Uint8Array): Decoded {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [first, second, third] = buffer;
  if (first === 0xff && second === 0xfe && buffer.length % 2 === 0)
    return { ok: true, text: buffer.toString("utf16le", 2), encoding: "utf-16le" };
  if (first === 0xfe && second === 0xff && buffer.length % 2 === 0)
    return { ok: true, text: Buffer.from(buffer.subarray(2)).swap16().toString("utf16le"), encoding: "utf-16be" };
  if (looksBinary(buffer)) return { ok: false, what: describeBinary(buffer) };
  if (!isUtf8(buffer)) return { ok: true, text: buffer.toString("latin1"), encoding: "latin1" };
  if (first === 0xef && second === 0xbb && third === 0xbf)
    return { ok: true, text: buffer.toString("utf8", 3), encoding: "utf-8-bom" };
  return { ok: true, text: buffer.toString("utf8"), encoding: "utf-8" };
}

/** Undefined when the encoding has no place for a character of the text. */
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
