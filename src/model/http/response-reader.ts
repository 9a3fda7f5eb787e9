/** Names in small letters; what came several times is joined by commas. */
export type ResponseHeaders = Readonly<Record<string, string | undefined>>;

export interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
}

export interface ResponseListener {
  head(head: ResponseHead): void;
  /** The bytes are valid during the call only: the next read overwrites them. */
  data(bytes: Buffer): void;
  /** The body is complete; nothing comes afterwards. */
  end(): void;
}

/** Reads one HTTP/1.1 response, however its bytes are cut. */
export interface ResponseReader {
  /** Throws a ProtocolError for what is no HTTP. */
  read(bytes: Buffer): void;
  /** The server closed the connection, which ends a body without a length. */
  closed(): void;
  /** The response is complete, and the connection may carry another one. */
  mayGoOn(): boolean;
  /** For how long the server said it keeps the connection; undefined when it did not say. */
  keptMs(): number | undefined;
}

export class ProtocolError extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`the response is no HTTP (${code})`);
    this.code = code;
  }
}

const longestHead = 64 * 1024;
const longestLine = 16 * 1024;

type Part = "head" | "length" | "rest" | "size" | "chunk" | "chunk end" | "trailer" | "ended";

export function createResponseReader(listener: ResponseListener): ResponseReader {
  let part: Part = "head";
  /** A head or line whose end has not come yet. */
  let held = "";
  /** Bytes of the body, or of its chunk, still to come. */
  let left = 0;
  let at = 0;
  let isKept = false;
  let hasExtra = false;
  let kept: number | undefined;

  function readHead(bytes: Buffer): void {
    const before = held.length;
    held += bytes.toString("latin1", at, Math.min(bytes.length, at + longestHead));
    // Who speaks something else may never send the end of a head.
    if (!held.startsWith(greeting.slice(0, held.length))) throw new ProtocolError("HPE_INVALID_CONSTANT");
    headEnd.lastIndex = Math.max(0, before - 3);
    const found = headEnd.exec(held);
    if (found === null) {
      if (held.length >= longestHead) throw new ProtocolError("HPE_HEADER_OVERFLOW");
      at = bytes.length;
      return;
    }
    at += headEnd.lastIndex - before;
    const { version, ...head } = parseHead(held.slice(0, found.index));
    held = "";
    if (head.status === 101) throw new ProtocolError("HPE_UNEXPECTED_UPGRADE");
    // An interim answer (100, 103): the real one follows.
    if (head.status < 200) return;
    take(head, version);
  }

  function take(head: ResponseHead, version: number): void {
    const { headers } = head;
    const hasCodings = headers["transfer-encoding"] !== undefined;
    const wish = headers["connection"]?.toLowerCase() ?? "";
    isKept = version === 1 ? !wish.includes("close") : wish.includes("keep-alive");
    // Both at once is what smugglers send: the codings count, and nothing else is read from this connection.
    if (hasCodings && headers["content-length"] !== undefined) isKept = false;
    kept = keptBy(headers["keep-alive"]);
    part = bodyOf(head);
    if (part === "length") left = lengthOf(head);
    listener.head(head);
    if (part === "length" && left === 0) end();
  }

  function end(): void {
    part = "ended";
    listener.end();
  }

  /** Undefined when the line's end has not come yet. */
  function takeLine(bytes: Buffer): string | undefined {
    const end = bytes.indexOf(lineFeed, at);
    const text = held + bytes.toString("latin1", at, end < 0 ? bytes.length : end);
    if (text.length > longestLine) throw new ProtocolError("HPE_LINE_TOO_LONG");
    at = end < 0 ? bytes.length : end + 1;
    held = end < 0 ? text : "";
    if (end < 0) return undefined;
    return text.endsWith("\r") ? text.slice(0, -1) : text;
  }

  function readBody(bytes: Buffer): void {
    const until = part === "rest" ? bytes.length : Math.min(bytes.length, at + left);
    const piece = at === 0 && until === bytes.length ? bytes : bytes.subarray(at, until);
    if (part !== "rest") left -= piece.length;
    at = until;
    listener.data(piece);
    if (part === "rest" || left > 0) return;
    if (part === "chunk") part = "chunk end";
    else end();
  }

  function readLine(bytes: Buffer): void {
    const line = takeLine(bytes);
    if (line === undefined) return;
    if (part === "size") {
      if (!chunkSize.test(line)) throw new ProtocolError("HPE_INVALID_CHUNK_SIZE");
      left = Number.parseInt(line, 16);
      part = left === 0 ? "trailer" : "chunk";
    } else if (part === "chunk end") {
      if (line !== "") throw new ProtocolError("HPE_STRICT");
      part = "size";
    } else if (line === "") end();
  }

  return {
    read(bytes) {
      at = 0;
      while (at < bytes.length) {
        if (part === "head") readHead(bytes);
        else if (part === "length" || part === "rest" || part === "chunk") readBody(bytes);
        else if (part !== "ended") readLine(bytes);
        else {
          hasExtra = true;
          return;
        }
      }
    },
    closed() {
      if (part === "rest") end();
      isKept = false;
    },
    mayGoOn: () => part === "ended" && isKept && !hasExtra,
    keptMs: () => kept,
  };
}

const greeting = "HTTP/1.";
const lineFeed = 10;
const headEnd = /\r?\n\r?\n/g;
const chunkSize = /^[0-9a-f]{1,12}[\t ]*(;.*)?$/i;
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)( .*)?$/;
const token = /^[!#$%&'*+.^_`|~\w-]+$/;

function parseHead(text: string): ResponseHead & { readonly version: number } {
  const lines = text.split(/\r?\n/);
  const first = statusLine.exec(lines[0] ?? "");
  if (first === null) throw new ProtocolError("HPE_INVALID_CONSTANT");
  const headers: Record<string, string> = Object.create(null);
  let name: string | undefined;
  for (let index = 1; index < lines.length; index++) {
    const line = lines[index] ?? "";
    if (name !== undefined && /^[\t ]/.test(line)) {
      headers[name] += ` ${line.trim()}`;
      continue;
    }
    const colon = line.indexOf(":");
    name = line.slice(0, Math.max(0, colon)).toLowerCase();
    if (!token.test(name)) throw new ProtocolError("HPE_INVALID_HEADER_TOKEN");
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return { version: Number(first[1]), status: Number(first[2]), headers };
}

function bodyOf({ status, headers }: ResponseHead): Part {
  const codings = headers["transfer-encoding"]?.toLowerCase();
  if (status === 204 || status === 304) return "length";
  if (codings !== undefined) return /(^|[\s,])chunked$/.test(codings) ? "size" : "rest";
  return headers["content-length"] === undefined ? "rest" : "length";
}

function lengthOf({ status, headers }: ResponseHead): number {
  if (status === 204 || status === 304) return 0;
  const length = headers["content-length"] ?? "";
  if (!/^\d{1,15}$/.test(length)) throw new ProtocolError("HPE_INVALID_CONTENT_LENGTH");
  return Number(length);
}

function keptBy(hint: string | undefined): number | undefined {
  const seconds = /(?:^|[\s,])timeout=(\d{1,6})/i.exec(hint ?? "")?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}
