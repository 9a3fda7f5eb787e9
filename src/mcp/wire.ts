import type { Transport } from "@modelcontextprotocol/client";

/** What messages to and from one server go through. */
export interface Wire {
  readonly transport: Transport;
  /** Why nothing can come any more, in words; undefined as long as something can. */
  over(): string | undefined;
  /** Words for what went wrong on the way; marks the wire as over where nothing more can come. */
  explain(error: unknown): string;
  /** What a program said on standard error, as the end of a sentence; empty if nothing. */
  lastWords(): string;
  /** Lines that were no messages. */
  strayLines(): number;
  /** Ends it and all that was started for it. Never rejects. */
  end(): Promise<void>;
}
