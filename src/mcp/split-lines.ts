export interface LineSplitter {
  push(chunk: Uint8Array): void;
}

/** Gives the whole lines of a stream. A line of more than `maxBytes` is told once and ends it: nothing more is given. */
export function splitLines({
  maxBytes,
  onLine,
  onTooLong,
}: {
  readonly maxBytes: number;
  readonly onLine: (line: string) => void;
  readonly onTooLong: () => void;
}): LineSplitter {
  // Pieces are joined once: joining at every chunk would copy a large message again and again.
  let pieces: Uint8Array[] = [];
  let length = 0;
  let over = false;

  function keep(piece: Uint8Array): void {
    if (piece.length === 0) return;
    pieces.push(piece);
    length += piece.length;
    if (length <= maxBytes) return;
    over = true;
    pieces = [];
    onTooLong();
  }

  function endLine(): void {
    const line = Buffer.concat(pieces, length).toString("utf8");
    pieces = [];
    length = 0;
    onLine(line);
  }

  return {
    push(chunk) {
      let start = 0;
      while (!over) {
        const end = chunk.indexOf(NEWLINE, start);
        keep(chunk.subarray(start, end === -1 ? undefined : end));
        if (over || end === -1) return;
        endLine();
        start = end + 1;
      }
    },
  };
}

const NEWLINE = 10;
