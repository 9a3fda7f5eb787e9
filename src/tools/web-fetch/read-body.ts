import type { IncomingMessage } from "node:http";
import type { Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

export interface Body {
  readonly bytes: Uint8Array;
  readonly cut: "no" | "too_long" | "broken";
}

/** Reads at most `maxBytes` after decompression, and no more than that from the wire either; then hangs up. */
export function readBody(response: IncomingMessage, maxBytes: number): Promise<Body> {
  const decoder = decoderFor(response.headers["content-encoding"]);
  if (decoder === "unknown") {
    response.destroy();
    return Promise.reject(new Error("The server used a compression nobody asked for."));
  }
  return new Promise((fulfil, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let received = 0;
    const finish = (cut: Body["cut"]) => {
      fulfil({ bytes: Buffer.concat(chunks), cut });
      response.destroy();
      decoder?.destroy();
    };
    const failed = (error: Error) => {
      if (size > 0 && error.name !== "AbortError") return finish("broken");
      reject(error);
      response.destroy();
      decoder?.destroy();
    };
    const take = (chunk: Buffer) => {
      const room = maxBytes - size;
      chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
      size += Math.min(chunk.length, room);
      if (chunk.length > room) finish("too_long");
    };
    response.on("error", failed);
    response.on("data", (chunk: Buffer) => {
      if (!decoder) return take(chunk);
      received += chunk.length;
      if (received > maxBytes) return finish("too_long");
      if (!decoder.write(chunk)) response.pause();
    });
    response.on("end", () => (decoder ? decoder.end() : finish("no")));
    decoder?.on("drain", () => response.resume());
    decoder?.on("data", take);
    decoder?.on("end", () => finish("no"));
    decoder?.on("error", failed);
  });
}

function decoderFor(encoding: string | undefined): Transform | "unknown" | undefined {
  const name = (encoding ?? "identity").trim().toLowerCase();
  if (name === "identity" || name === "") return undefined;
  if (name === "gzip" || name === "x-gzip") return createGunzip();
  if (name === "deflate") return createInflate();
  if (name === "br") return createBrotliDecompress();
  return "unknown";
}
