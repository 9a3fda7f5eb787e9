/**
 * Collects the text of an error response, which some servers compress although the request does not allow compression.
 */
export interface ErrorBody {
  add(chunk: Buffer): void;
  /** Returns an empty string if the body can't be decompressed or exceeds the limit. */
  text(): string;
}

/** Maximum size of an error, compressed or decompressed. No provider sends errors this large. */
const mostBytes = 64_000;

export function createErrorBody(encoding: string | undefined): ErrorBody {
  const chunks: Buffer[] = [];
  let room = mostBytes;
  return {
    add(chunk) {
      if (room === 0) return;
      const piece = chunk.subarray(0, room);
      room -= piece.length;
      chunks.push(piece);
    },
    text: () => decompress(Buffer.concat(chunks), encoding?.trim().toLowerCase()).toString("utf8"),
  };
}

function decompress(bytes: Buffer, encoding = "identity"): Buffer {
  if (encoding === "identity" || encoding === "") return bytes;
  // Loaded only here, because hardly any process needs zlib, and loading it takes two milliseconds.
  const zlib = process.getBuiltinModule("node:zlib");
  const limit = { maxOutputLength: mostBytes };
  try {
    if (encoding === "gzip" || encoding === "x-gzip") return zlib.gunzipSync(bytes, limit);
    if (encoding === "deflate") return zlib.inflateSync(bytes, limit);
    if (encoding === "br") return zlib.brotliDecompressSync(bytes, limit);
  } catch {
    // The status and the headers of the response still say what to do.
  }
  return Buffer.alloc(0);
}
