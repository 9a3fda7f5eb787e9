/** Decodes a stream of UTF-8; the same text comes out however it is cut. Invalid bytes become U+FFFD. */
export function createUtf8Decoder(): { write(chunk: Buffer): string; end(): string } {
  let held: Buffer | undefined;
  return {
    write(chunk) {
      const bytes = held === undefined ? chunk : Buffer.concat([held, chunk]);
      held = undefined;
      const kept = unfinished(bytes);
      if (kept === 0) return bytes.toString("utf8");
      // The chunk's memory may be reused by the socket.
      held = Buffer.from(bytes.subarray(bytes.length - kept));
      return bytes.toString("utf8", 0, bytes.length - kept);
    },
    end() {
      const rest = held?.toString("utf8") ?? "";
      held = undefined;
      return rest;
    },
  };
}

/** How many bytes at the end begin a character that goes on in the next chunk. */
function unfinished(bytes: Buffer): number {
  const last = bytes.length - 1;
  for (let back = 0; back < 3 && back <= last; back += 1) {
    const byte = bytes[last - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return back + 1 < needed ? back + 1 : 0;
  }
  return 0;
}
