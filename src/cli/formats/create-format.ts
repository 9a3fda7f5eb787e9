import type { OutputFormat } from "../command.ts";
import type { Format } from "./format.ts";
import { createTextFormat } from "./text.ts";

export interface FormatWish {
  readonly outputFormat: OutputFormat;
  readonly partialMessages: boolean;
  readonly forTerminal: boolean;
}

export async function createFormat({ outputFormat, partialMessages, forTerminal }: FormatWish): Promise<Format> {
  if (outputFormat === "text") return createTextFormat({ forTerminal });
  if (outputFormat === "json") return (await import("./json.ts")).createJsonFormat();
  const { createStreamJsonFormat } = await import("./stream-json.ts");
  return createStreamJsonFormat({ partialMessages, newId: () => crypto.randomUUID() });
}

/** For when the command line as a whole could not be read. */
export function formatAskedFor(argv: readonly string[]): OutputFormat {
  const at = argv.lastIndexOf("--output-format");
  const named = at < 0 ? argv.findLast((word) => word.startsWith("--output-format="))?.slice(16) : argv[at + 1];
  return named === "json" || named === "stream-json" ? named : "text";
}
