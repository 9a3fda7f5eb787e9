import type { Socket } from "node:net";

/** Below this one write is cheaper than several; above it copying is dearer. */
const copyBelow = 64 * 1024;

export interface RequestBytes {
  /** One byte a character. */
  readonly head: string;
  readonly body: readonly Uint8Array[];
}

/** Sends a request in as few system calls as possible without copying what is large. */
export function writeRequest(socket: Socket, { head, body }: RequestBytes, onGone: () => void): void {
  const length = lengthOf(body);
  if (length < copyBelow) {
    const bytes = Buffer.allocUnsafe(head.length + length);
    let at = bytes.write(head, "latin1");
    for (const piece of body) {
      bytes.set(piece, at);
      at += piece.length;
    }
    socket.write(bytes, onGone);
    return;
  }
  socket.cork();
  socket.write(head, "latin1", body.length === 0 ? onGone : undefined);
  body.forEach((piece, index) => {
    socket.write(piece, index === body.length - 1 ? onGone : undefined);
  });
  socket.uncork();
}

export function lengthOf(pieces: readonly Uint8Array[]): number {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return length;
}
