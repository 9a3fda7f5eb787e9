import type { Socket } from "node:net";
import { monotonic } from "../../lib/index.ts";
import { createResponseReader, ProtocolError, type ResponseHead, type ResponseReader } from "./response-reader.ts";
import { type RequestBytes, writeRequest } from "./write-request.ts";

export interface ExchangeListener {
  /** It has a connection, or one is being made: from here on silence is the server's. */
  began(): void;
  /** The system has taken every byte of the request. */
  gone(): void;
  head(head: ResponseHead): void;
  /** The bytes are valid during the call only. */
  data(bytes: Buffer): void;
  /** Not complete: the answer was cut off. */
  end(isComplete: boolean): void;
  /** No answer, or none that is HTTP. Stale: a kept connection was closed before the server saw anything. */
  failed(error: NodeJS.ErrnoException, isStale: boolean): void;
}

/** One request and its answer. After either call nothing more is told. */
export interface Exchange {
  /** Ends the connection. */
  drop(): void;
  /** All that was wanted has come: the connection is kept if the server ends its answer soon. */
  letGo(): void;
}

export interface Job {
  readonly bytes: RequestBytes;
  listener: ExchangeListener | undefined;
  connection: Connection | undefined;
}

/** A socket and the one request it carries at a time. */
export interface Connection {
  begin(job: Job): void;
  use(socket: Socket): void;
  read(bytes: Buffer): void;
  /** It could not be opened. */
  fail(error: NodeJS.ErrnoException): void;
  drop(job: Job): void;
  letGo(job: Job): void;
  /** Ends it without a word: nobody waits for what it carries. */
  end(): void;
  /** As far as the server said, it is still open. */
  isFresh(): boolean;
  /** Nobody waits for what it carries. */
  isUnwanted(): boolean;
}

interface ConnectionOptions {
  readonly onFree: (connection: Connection) => void;
  readonly onEnd: (connection: Connection) => void;
}

const patienceMs = 2_000;
/** A request must not arrive just when the server gives up waiting. */
const marginMs = 1_000;

export function createConnection({ onFree, onEnd }: ConnectionOptions): Connection {
  let socket: Socket | undefined;
  let job: Job | undefined;
  let reader: ResponseReader | undefined;
  let hasServed = false;
  let hasEnded = false;
  /** How far the present exchange has come. */
  let isGone = false;
  let hasHeard = false;
  let hasHead = false;
  let isComplete = false;
  let freshUntil = Number.POSITIVE_INFINITY;

  function begin(next: Job): void {
    job = next;
    next.connection = connection;
    isGone = false;
    hasHeard = false;
    hasHead = false;
    isComplete = false;
    reader = createResponseReader(response);
    next.listener?.began();
    if (socket) write(socket, next);
  }

  function write(to: Socket, current: Job): void {
    if (hasServed) to.ref();
    writeRequest(to, current.bytes, () => {
      if (job !== current || hasEnded) return;
      isGone = true;
      current.listener?.gone();
    });
  }

  const response = {
    head(head: ResponseHead) {
      hasHead = true;
      job?.listener?.head(head);
    },
    data(bytes: Buffer) {
      job?.listener?.data(bytes);
    },
    end() {
      isComplete = true;
      job?.listener?.end(true);
    },
  };

  function use(opened: Socket): void {
    socket = opened;
    opened.on("error", fail);
    opened.on("end", () => {
      reader?.closed();
      fail(hungUp());
    });
    opened.on("close", () => fail(hungUp()));
    opened.on("timeout", end);
    if (hasEnded) opened.destroy();
    else if (job) write(opened, job);
    else free();
  }

  function read(bytes: Buffer): void {
    // A word nobody asked for: what would come next can't be trusted either.
    if (job === undefined) end();
    hasHeard = true;
    try {
      reader?.read(bytes);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      spoil(error);
    }
    if (!isComplete || hasEnded) return;
    if (isGone && reader?.mayGoOn()) free();
    else end();
  }

  function free(): void {
    if (job && !job.listener) socket?.setTimeout(0);
    job = undefined;
    hasServed = true;
    const keptMs = reader?.keptMs();
    freshUntil = keptMs === undefined ? Number.POSITIVE_INFINITY : monotonic() + keptMs - marginMs;
    reader = undefined;
    socket?.unref();
    onFree(connection);
  }

  function spoil(error: NodeJS.ErrnoException): void {
    const listener = job?.listener;
    end();
    listener?.failed(error, false);
  }

  function fail(error: NodeJS.ErrnoException): void {
    if (hasEnded) return;
    const listener = job?.listener;
    const isStale = hasServed && !hasHeard && isClosedBy(error);
    end();
    if (isComplete) return;
    if (hasHead) listener?.end(false);
    else listener?.failed(error, isStale);
  }

  function end(): void {
    if (hasEnded) return;
    hasEnded = true;
    job = undefined;
    socket?.destroy();
    onEnd(connection);
  }

  const connection: Connection = {
    begin,
    use,
    read,
    fail,
    drop(which) {
      if (job === which) end();
    },
    letGo(which) {
      if (job !== which || isComplete) return;
      socket?.unref();
      socket?.setTimeout(patienceMs);
    },
    end,
    isFresh: () => monotonic() < freshUntil,
    isUnwanted: () => job?.listener === undefined,
  };
  return connection;
}

function hungUp(): NodeJS.ErrnoException {
  return Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
}

function isClosedBy({ code }: NodeJS.ErrnoException): boolean {
  return code === "ECONNRESET" || code === "EPIPE";
}
