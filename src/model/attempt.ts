import type { ClientRequest, IncomingMessage } from "node:http";
import type { About } from "./about.ts";
import { failureOfConnection } from "./connection-failure.ts";
import type { Connector } from "./connector.ts";
import { type Failure, failure } from "./failure.ts";
import { isAnswer, type ReceiveOptions, receiveAnswer, type Verdict } from "./receive-answer.ts";
import { writePieces } from "./write-pieces.ts";

export interface AttemptOptions extends ReceiveOptions {
  readonly connector: Connector;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: readonly Uint8Array[];
  readonly signal: AbortSignal;
  readonly idleMs: number;
  /** The system has taken every byte of the request. */
  readonly onGone: () => void;
  /** The server has taken the request: its answer begins. */
  readonly onTaken: () => void;
}

export type AttemptEnd =
  | { readonly kind: "complete" }
  | { readonly kind: "aborted" }
  /** A kept-alive connection turned out to be closed before the server saw anything. */
  | { readonly kind: "stale" }
  | { readonly kind: "failed"; readonly failure: Failure };

/** Sends one request and feeds the answer to the reader. Always settles; nothing is read or emitted afterwards. */
export function attempt(options: AttemptOptions): Promise<AttemptEnd> {
  const { connector, signal, idleMs, about } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return resolve({ kind: "aborted" });
    const opened = openRequest(options);
    if ("failure" in opened) return resolve({ kind: "failed", failure: opened.failure });
    const { request } = opened;
    let settled = false;
    let response: IncomingMessage | undefined;
    let idle: NodeJS.Timeout | undefined;
    const onAbort = () => end({ kind: "aborted" });
    signal.addEventListener("abort", onAbort, { once: true });

    /** The clock begins with the socket: waiting for one of few is not the server's silence. */
    function heard(): void {
      if (settled) return;
      if (idle) idle.refresh();
      else idle = setTimeout(() => end({ kind: "failed", failure: stalled(about, idleMs) }), idleMs);
    }

    function stop(): boolean {
      if (settled) return false;
      settled = true;
      clearTimeout(idle);
      signal.removeEventListener("abort", onAbort);
      return true;
    }

    function end(result: AttemptEnd): void {
      if (!stop()) return;
      if (result.kind === "complete" && response) letGo(response);
      else request.destroy();
      resolve(result);
    }

    /** A bug in whoever listens to the answer must not take the process down from inside a socket's callback. */
    function judge(verdict: () => Verdict | undefined): void {
      if (settled) return;
      try {
        const known = verdict();
        if (known === "complete") end({ kind: "complete" });
        else if (known !== undefined) end({ kind: "failed", failure: known });
      } catch (bug) {
        if (stop()) request.destroy();
        reject(bug);
      }
    }

    request.on("socket", heard);
    request.on("finish", () => {
      if (!settled) options.onGone();
    });
    request.on("error", (error: NodeJS.ErrnoException) => {
      if (response === undefined && request.reusedSocket && isClosed(error)) return end({ kind: "stale" });
      end({ kind: "failed", failure: failureOfConnection(error, { about, reached: connector.reached }) });
    });
    request.on("response", (incoming: IncomingMessage) => {
      response = incoming;
      connector.reached = true;
      heard();
      if (!settled && isAnswer(incoming)) options.onTaken();
      const receiver = receiveAnswer(incoming, options);
      incoming.on("data", (chunk: Buffer) => {
        heard();
        judge(() => receiver.data(chunk));
      });
      incoming.on("end", () => judge(() => receiver.end(incoming.complete)));
      // Cut in the middle: an error, then a close.
      incoming.on("error", () => judge(() => receiver.end(false)));
      incoming.on("close", () => judge(() => receiver.end(incoming.complete)));
    });
    writePieces(request, options.body);
  });
}

/** A header or an address that can't be written throws at once. */
function openRequest({ connector, url, headers, about }: AttemptOptions): Opened {
  try {
    return { request: connector.open(url, { method: "POST", headers }) };
  } catch (error) {
    return { failure: failureOfConnection(error as NodeJS.ErrnoException, { about, reached: connector.reached }) };
  }
}

type Opened = { readonly request: ClientRequest } | { readonly failure: Failure };

const patienceMs = 2_000;

/** The answer is complete; the connection is kept if the server ends the response soon. Most have, a moment later. */
function letGo(response: IncomingMessage): void {
  if (response.readableEnded) return;
  response.removeAllListeners("data");
  response.resume();
  setImmediate(() => {
    if (response.closed) return;
    const patience = setTimeout(() => response.destroy(), patienceMs);
    patience.unref();
    response.once("close", () => clearTimeout(patience));
  });
}

function isClosed(error: NodeJS.ErrnoException): boolean {
  return error.code === "ECONNRESET" || error.code === "EPIPE";
}

function stalled({ provider, host }: About, idleMs: number): Failure {
  const seconds = Math.max(1, Math.round(idleMs / 1_000));
  const message = `${provider} (${host}) sent nothing for ${seconds} s; check that the server is not stuck and try again.`;
  return failure("stalled", { message, retry: "few" });
}
