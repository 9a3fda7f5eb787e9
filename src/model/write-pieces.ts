import type { ClientRequest } from "node:http";

/** Below this one write is cheaper than several; above it copying is dearer. */
const copyBelow = 64 * 1024;

/** Sends the body in as few system calls as possible without copying what is large. */
export function writePieces(request: ClientRequest, pieces: readonly Uint8Array[]): void {
  const length = lengthOf(pieces);
  const [only] = pieces;
  if (pieces.length === 1 && only) {
    request.end(only);
    return;
  }
  if (length < copyBelow) {
    request.end(Buffer.concat(pieces, length));
    return;
  }
  request.cork();
  for (const piece of pieces) if (piece.length > 0) request.write(piece);
  request.end();
  request.uncork();
}

export function lengthOf(pieces: readonly Uint8Array[]): number {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return length;
}
