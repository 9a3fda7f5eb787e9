/** Cuts a stream of bytes into records that end in `separator`. A record longer than `maxBytes` loses its end. */
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
    // A copy: the stream may use its memory again.
    pending.push(Buffer.from(kept));
    size += kept.length;
  }
  function flush(): void {
    const record = pending.length === 1 ? (pending[0] ?? Buffer.alloc(0)) : Buffer.concat(pending);
    pending = [];
    size = 0;
    onRecord(record.toString());
  }
  return {
    push(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(separator); end >= 0; end = chunk.indexOf(separator, start)) {
        keep(chunk.subarray(start, end));
        flush();
        start = end + 1;
      }
      keep(chunk.subarray(start));
    },
    end() {
      if (size > 0) flush();
    },
  };
}
