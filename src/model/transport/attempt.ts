import { formatDuration } from "../../lib/index.ts";
import type { ProviderInfo } from "../providers/provider-info.ts";
import { failureOfConnection } from "./connection-failure.ts";
import type { Connector, Exchange, ExchangeListener } from "./connector.ts";
import { type Failure, failure } from "./failure.ts";
import { isAnswer, type ReceiveOptions, type Receiver, receiveAnswer, type Verdict } from "./receive-answer.ts";

export interface AttemptOptions extends ReceiveOptions {
  readonly connector: Connector;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: readonly Uint8Array[];
  readonly signal: AbortSignal;
  /** Maximum time without a complete line from the server. */
  readonly idleMs: number;
  /** Maximum time for the whole attempt, no matter how often the server sends something. */
  readonly totalMs: number;
  /** Called when the operating system has accepted every byte of the request. */
  readonly onSent: () => void;
  /** Called when the server has accepted the request, that is, when its response begins. */
  readonly onTaken: () => void;
}

export type AttemptEnd =
  | { readonly kind: "complete" }
  | { readonly kind: "aborted" }
  | { readonly kind: "failed"; readonly failure: Failure };

/** Sends one request and feeds the response to the reader. Always settles; nothing is read or emitted afterwards. */
export function attempt(options: AttemptOptions): Promise<AttemptEnd> {
  const { connector, url, headers, body, signal, idleMs, totalMs, info } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return resolve({ kind: "aborted" });
    let settled = false;
    let exchange: Exchange | undefined;
    let receiver: Receiver | undefined;
    let idle: NodeJS.Timeout | undefined;
    let total: NodeJS.Timeout | undefined;
    /** True while the body of an error response is being read. */
    let explains = false;
    const onAbort = () => end({ kind: "aborted" });

    function heard(): void {
      if (settled) return;
      if (idle) idle.refresh();
      else idle = setTimeout(() => end({ kind: "failed", failure: stalled(info, idleMs) }), idleMs);
      total ??= setTimeout(() => end({ kind: "failed", failure: endless(info, totalMs) }), totalMs);
    }

    /** Gives the server a moment to explain an error. If no explanation arrives, the status is reported alone. */
    function awaitErrorBody(): void {
      explains = true;
      clearTimeout(idle);
      clearTimeout(total);
      total = setTimeout(() => judge(() => receiver?.end(false)), Math.min(errorBodyMs, idleMs));
    }

    function stop(): boolean {
      if (settled) return false;
      settled = true;
      clearTimeout(idle);
      clearTimeout(total);
      signal.removeEventListener("abort", onAbort);
      return true;
    }

    function end(result: AttemptEnd): void {
      if (!stop()) return;
      if (result.kind === "complete") exchange?.letGo();
      else exchange?.drop();
      resolve(result);
    }

    function failed(error: NodeJS.ErrnoException): void {
      end({ kind: "failed", failure: failureOfConnection(error, { info, reached: connector.reached }) });
    }

    /**
     * Ends the attempt if there is a verdict. If a listener throws, the attempt rejects, so that the exception does not
     * escape into a socket's callback and end the process.
     */
    function judge(verdict: () => Verdict | undefined): void {
      if (settled) return;
      try {
        const known = verdict();
        if (known === "complete") end({ kind: "complete" });
        else if (known !== undefined) end({ kind: "failed", failure: known });
      } catch (bug) {
        if (stop()) exchange?.drop();
        reject(bug);
      }
    }

    const listener: ExchangeListener = {
      // Time spent waiting for a free connection does not count as silence from the server.
      began: heard,
      sent: () => options.onSent(),
      head(head) {
        heard();
        if (isAnswer(head)) options.onTaken();
        else awaitErrorBody();
        receiver = receiveAnswer(head, options);
      },
      data(bytes) {
        // Events end with a line break. A server could send parts of a line forever.
        if (!explains && bytes.includes(lineBreak)) heard();
        judge(() => receiver?.data(bytes));
      },
      end: (isComplete) => judge(() => receiver?.end(isComplete)),
      failed,
    };
    exchange = connector.send({ method: "POST", url, headers, body }, listener);
    if (!settled) signal.addEventListener("abort", onAbort, { once: true });
  });
}

const errorBodyMs = 10_000;
const lineBreak = 10;

function endless({ provider, host }: ProviderInfo, totalMs: number): Failure {
  const message = `The response from ${provider} (${host}) did not finish within ${formatDuration(totalMs)}. Check that the server is not stuck, then try again.`;
  return failure("stalled", { message });
}

function stalled({ provider, host }: ProviderInfo, idleMs: number): Failure {
  const seconds = Math.max(1, Math.round(idleMs / 1_000));
  const message = `${provider} (${host}) sent nothing for ${seconds} s. Check that the server is not stuck, then try again.`;
  return failure("stalled", { message, retry: "few" });
}
