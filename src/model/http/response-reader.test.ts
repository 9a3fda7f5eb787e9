import { once } from "node:events";
import { request } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createResponseReader, ProtocolError } from "./response-reader.ts";

interface Seen {
  readonly status: number;
  readonly headers: Record<string, string | undefined>;
  readonly body: string;
  readonly isComplete: boolean;
  readonly mayGoOn: boolean;
}

/** Reads the pieces, and the closing after them. Undefined: there was no head. */
function readAll(pieces: readonly Buffer[]): Seen | undefined {
  let seen: { status: number; headers: Record<string, string | undefined> } | undefined;
  const body: Buffer[] = [];
  let isComplete = false;
  const reader = createResponseReader({
    head: (head) => {
      seen = { status: head.status, headers: { ...head.headers } };
    },
    data: (bytes) => void body.push(Buffer.from(bytes)),
    end: () => {
      isComplete = true;
    },
  });
  for (const piece of pieces) reader.read(piece);
  const mayGoOn = reader.mayGoOn();
  reader.closed();
  return seen && { ...seen, body: Buffer.concat(body).toString("latin1"), isComplete, mayGoOn };
}

const whole = (text: string) => readAll([Buffer.from(text, "latin1")]);

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), 0, bytes.length].sort((a, b) => a - b);
  return ends.slice(1).map((end, index) => bytes.subarray(ends[index], end));
}

const chunked = (...chunks: string[]) =>
  `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("")}0\r\n\r\n`;

describe("a response", () => {
  it("of a known length", () => {
    expect(whole("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-One: a\r\nx-one: b\r\n\r\nhello")).toEqual({
      status: 200,
      headers: { "content-length": "5", "x-one": "a, b" },
      body: "hello",
      isComplete: true,
      mayGoOn: true,
    });
  });

  it("in chunks, with extensions and trailers", () => {
    const text =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n6 \r\n world\r\n0\r\nX-Sum: 1\r\n\r\n";
    expect(whole(text)).toMatchObject({ body: "hello world", isComplete: true, mayGoOn: true });
  });

  it("without a length lasts until the connection closes", () => {
    expect(whole("HTTP/1.1 200 OK\r\n\r\nhello")).toMatchObject({ body: "hello", isComplete: true, mayGoOn: false });
  });

  it("that is cut is not complete", () => {
    expect(whole("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")).toMatchObject({ isComplete: false });
    expect(whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")).toMatchObject({
      isComplete: false,
    });
    expect(whole("HTTP/1.1 200 OK\r\nContent-Le")).toBeUndefined();
  });

  it("comes after interim ones", () => {
    const interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n";
    expect(whole(`${interim}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`)).toMatchObject({
      status: 200,
      body: "ok",
    });
  });

  it.each(["204 No Content", "304 Not Modified"])("%s has no body whatever it says", (status) => {
    expect(whole(`HTTP/1.1 ${status}\r\ncontent-length: 9\r\n\r\n`)).toMatchObject({ body: "", isComplete: true });
  });

  it("may have lines that end in a line feed alone, and lines that go on", () => {
    expect(whole("HTTP/1.1 200 OK\nx-long: a\n  b\ncontent-length: 2\n\nok")).toMatchObject({
      headers: { "x-long": "a b" },
      body: "ok",
    });
  });

  it.each([
    ["it said so", "HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 0\r\n\r\n"],
    ["it is of version 1.0", "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"],
    ["there is more than was said", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP"],
    [
      "its length was said twice",
      "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
  ])("is the last of its connection when %s", (_, text) => {
    expect(whole(text)).toMatchObject({ isComplete: true, mayGoOn: false });
  });

  it.each([
    ["HPE_INVALID_CONSTANT", "SSH-2.0-OpenSSH_9.2\r\n"],
    ["HPE_INVALID_CONSTANT", "HTTP/2 200 OK\r\n\r\n"],
    ["HPE_INVALID_CONSTANT", "HTTP/1.1 2000 OK\r\n\r\n"],
    ["HPE_INVALID_HEADER_TOKEN", "HTTP/1.1 200 OK\r\nbad header: x\r\n\r\n"],
    ["HPE_INVALID_HEADER_TOKEN", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"],
    ["HPE_INVALID_CONTENT_LENGTH", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"],
    ["HPE_INVALID_CONTENT_LENGTH", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"],
    ["HPE_INVALID_CHUNK_SIZE", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"],
    ["HPE_INVALID_CHUNK_SIZE", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-5\r\n"],
    ["HPE_STRICT", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nokay\r\n"],
    ["HPE_UNEXPECTED_UPGRADE", "HTTP/1.1 101 Switching\r\n\r\n"],
    ["HPE_HEADER_OVERFLOW", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(70_000)}`],
    ["HPE_LINE_TOO_LONG", `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;${"y".repeat(20_000)}`],
  ])("is refused with %s: %j", (code, text) => {
    let thrown: unknown;
    try {
      whole(text);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ProtocolError);
    expect(thrown).toMatchObject({ code });
  });
});

describe("any response", () => {
  const token = fc
    .stringMatching(/^[a-z][a-z0-9-]{0,8}$/)
    .filter((name) => !/^(connection|content|keep|transfer|trailer|upgrade|te$|set-cookie|date)/.test(name));
  const value = fc.stringMatching(/^[!-~][ -~]{0,20}[!-~]$/);
  const bodies = fc.array(
    fc.string({
      unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
      minLength: 1,
      maxLength: 40,
    }),
    { maxLength: 5 },
  );
  const responses = fc
    .record({
      status: fc.constantFrom(200, 400, 429, 529),
      headers: fc.dictionary(token, value, { maxKeys: 5, noNullPrototype: true }),
      bodies,
      form: fc.constantFrom("length", "chunked", "rest"),
    })
    .map(({ status, headers, bodies, form }) => {
      const lines = Object.entries(headers).map(([name, text]) => `${name}: ${text}\r\n`);
      const text = bodies.join("");
      if (form === "length") lines.push(`content-length: ${text.length}\r\n`);
      if (form === "chunked") lines.push("transfer-encoding: chunked\r\n");
      const body = form === "chunked" ? chunked(...bodies) : text;
      return Buffer.from(`HTTP/1.1 ${status} Said\r\n${lines.join("")}\r\n${body}`, "latin1");
    });

  it("is the same however it is cut", () => {
    fc.assert(
      fc.property(responses, fc.array(fc.nat(), { maxLength: 12 }), (bytes, places) => {
        expect(readAll(cut(bytes, places))).toEqual(readAll([bytes]));
      }),
    );
  });

  // What to say is told by the request's path, so that one server serves all cases.
  const said = new Map<string, Buffer>();
  const server = createTcpServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (bytes) => socket.end(said.get(/^GET (\S+)/.exec(bytes.toString("latin1"))?.[1] ?? "") ?? ""));
  });
  beforeAll(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterAll(() => void server.close());

  it("is read as Node reads it", async () => {
    const { port } = server.address() as AddressInfo;
    await fc.assert(
      fc.asyncProperty(responses, async (bytes) => {
        const path = `/${said.size}`;
        said.set(path, bytes);
        const asked = request({ host: "127.0.0.1", port, path, agent: false }).end();
        const [incoming] = await once(asked, "response");
        const pieces: Buffer[] = [];
        for await (const piece of incoming) pieces.push(piece);
        const { statusCode: status, headers } = incoming;
        const own = readAll([bytes]);
        expect({ ...own, headers: { ...own?.headers } }).toMatchObject({
          status,
          headers: { ...headers },
          body: Buffer.concat(pieces).toString("latin1"),
          isComplete: true,
        });
      }),
      { numRuns: 60 },
    );
  });
});
