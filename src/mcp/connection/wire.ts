import type { Transport } from "@modelcontextprotocol/client";

/** Connection that carries the messages to and from one server. */
export interface Wire {
  readonly transport: Transport;
  /** Explains why the connection is lost; undefined while it works. */
  over(): string | undefined;
  /** Describes an error. Marks the connection as lost if no more messages can arrive. */
  explain(error: unknown): string;
  /** Returns the last output on standard error, formatted as the end of a sentence; empty if there is none. */
  lastErrorOutput(): string;
  /** Returns the number of lines of output that were not messages. */
  strayLines(): number;
  /** Ends the connection and all processes that were started for it. Never rejects. */
  end(): Promise<void>;
}

/** Waits for the work, but no longer than the given time. Never rejects. */
export async function settleWithin(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work.catch(() => {}), timeout]);
  clearTimeout(timer);
}
