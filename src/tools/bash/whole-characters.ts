/**
 * Holds back a character whose bytes have not all come yet, so that two streams can be written into one text.
 * `rest` gives what is left when nothing more comes.
 */
export function createWholeCharacters(): { take(chunk: Uint8Array): Uint8Array; rest(): Uint8Array } {
  let held: Uint8Array = new Uint8Array(0);
  return {
    take(chunk) {
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const end = endOfWhole(bytes);
      held = Buffer.from(bytes.subarray(end));
      return bytes.subarray(0, end);
    },
    rest() {
      const bytes = held;
      held = new Uint8Array(0);
      return bytes;
    },
  };
}

function endOfWhole(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
