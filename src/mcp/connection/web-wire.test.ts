import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { limitBody } from "./web-wire.ts";

async function read(chunks: readonly string[], { type, maxBytes }: { type: string; maxBytes: number }) {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(Buffer.from(chunk));
      controller.close();
    },
  });
  const response = new Response(body, { status: 201, headers: { "content-type": type } });
  const limited = limitBody(response, { maxBytes, onTooLarge: () => new Error("too large") });
  expect(limited.status).toBe(201);
  return limited.text().catch((error: Error) => error.message);
}

const events = "text/event-stream; charset=utf-8";

describe("limitBody", () => {
  it("measures a whole body as one message", async () => {
    expect(await read(["123", "45"], { type: "application/json", maxBytes: 5 })).toBe("12345");
    expect(await read(["123", "456"], { type: "application/json", maxBytes: 5 })).toBe("too large");
  });

  it("measures every event separately, no matter how the bytes arrive", async () => {
    const stream = "12345\n\n1234\n5\n\r\n\n1\r\n2\r\n345\r\n\r\n12345";
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(6)), async (cuts) => {
        const chunks: string[] = [];
        let at = 0;
        for (const cut of cuts) {
          chunks.push(stream.slice(at, at + cut));
          at += cut;
        }
        chunks.push(stream.slice(at));
        expect(await read(chunks, { type: events, maxBytes: 5 })).toBe(stream);
        expect(await read(chunks, { type: events, maxBytes: 4 })).toBe("too large");
      }),
      { numRuns: 30 },
    );
  });

  it("does not change a response without a body", () => {
    const response = new Response(null, { status: 204 });
    expect(limitBody(response, { maxBytes: 1, onTooLarge: () => new Error() })).toBe(response);
  });
});
