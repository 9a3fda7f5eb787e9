import type { OutputFormat } from "../command.ts";
import type { Format } from "./format.ts";
import { createTextFormat } from "./text.ts";

export interface FormatWish {
  readonly outputFormat: OutputFormat;
  readonly partialMessages: boolean;
  readonly forTerminal: boolean;
}

export function createFormat({ forTerminal }: FormatWish): Format {
  return createTextFormat({ forTerminal });
}

/** For when the command line as a whole could not be read. */
export function formatAskedFor(argv: readonly string[]): OutputFormat {
  const at = argv.lastIndexOf("--output-format");
  const named = at < 0 ? argv.findLast((word) => word.startsWith("--output-format="))?.slice(16) : argv[at + 1];
  return named === "json" || named === "stream-json" ? named : "text";
}
