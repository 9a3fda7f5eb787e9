/** Splits a stream of bytes into records that end in `separator`. Truncates records longer than `maxBytes`. */
export function createRecordSplitter(
  separator: number,
  onRecord: (record: string) => void,
  { maxBytes = 64 * 1024 }: { readonly maxBytes?: number } = {},
): { push(chunk: Uint8Array): void; end(): void } {
  let pending: Buffer[] = [];
  let size = 0;

  function keep(bytes: Uint8Array): void {
    const room = maxBytes - size;
    if (room <= 0 || bytes.length === 0) return;
    const kept = bytes.subarray(0, room);
    // The bytes are copied, because the stream may reuse its memory.
    pending.push(Buffer.from(kept));
    size += kept.length;
  }
  function flush(): void {
    const record = Buffer.concat(pending).toString();
    pending = [];
    size = 0;
    onRecord(record);
  }
  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      let start = 0;
      for (let end = bytes.indexOf(separator); end >= 0; end = bytes.indexOf(separator, start)) {
        if (size === 0) onRecord(bytes.toString("utf8", start, Math.min(end, start + maxBytes)));
        else {
          keep(bytes.subarray(start, end));
          flush();
        }
        start = end + 1;
      }
      keep(bytes.subarray(start));
    },
    end() {
      if (size > 0) flush();
    },
  };
}
