import type { Writable } from "node:stream";
import { describeError, errorCode } from "../lib/index.ts";
import { exitCodes } from "./exit-codes.ts";

export interface Output {
  readonly isTerminal: boolean;
  /** Settles when the text has left this process, so a slow reader slows the writer down. Never rejects. */
  write(text: string): Promise<void>;
}

/** `onGone`: the reader closed its end; whatever is written from then on is dropped. */
export function createOutput(stream: Writable & { readonly isTTY?: boolean }, onGone: () => void): Output {
  let isGone = false;
  const lose = (error: Error): void => {
    if (isGone) return;
    isGone = true;
    if (errorCode(error) !== "EPIPE") fail(error);
    onGone();
  };
  stream.on("error", lose);
  return {
    isTerminal: stream.isTTY === true,
    write: (text) => {
      if (isGone || text === "") return Promise.resolve();
      return new Promise((resolve) => {
        stream.write(text, (error) => {
          if (error) lose(error);
          resolve();
        });
      });
    },
  };
}

/** What was asked for has not been delivered: that is no success, whatever else went well. */
function fail(error: Error): void {
  process.exitCode = exitCodes.failed;
  process.stderr.write(`retinue: The output can't be written: ${describeError(error)}\n`);
}
