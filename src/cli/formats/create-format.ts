import type { OutputFormat } from "../command.ts";
import type { AgentViews } from "../progress/agent-views.ts";
import type { Format } from "./format.ts";
import { createTextFormat } from "./text.ts";

export interface FormatWish {
  readonly outputFormat: OutputFormat;
  readonly partialMessages: boolean;
  readonly subagentText: boolean;
  readonly forTerminal: boolean;
  /** Have seen an update before the format does. */
  readonly agents: AgentViews;
}

export async function createFormat(wish: FormatWish): Promise<Format> {
  const { outputFormat, partialMessages, subagentText, forTerminal, agents } = wish;
  if (outputFormat === "text") return createTextFormat({ forTerminal });
  if (outputFormat === "json") return (await import("./json.ts")).createJsonFormat(agents);
  const { createStreamJsonFormat } = await import("./stream-json.ts");
  return createStreamJsonFormat({ partialMessages, subagentText, agents, newId: () => crypto.randomUUID() });
}

/** For when the command line as a whole could not be read. */
export function formatAskedFor(argv: readonly string[]): OutputFormat {
  const at = argv.lastIndexOf("--output-format");
  const named = at < 0 ? argv.findLast((word) => word.startsWith("--output-format="))?.slice(16) : argv[at + 1];
  return named === "json" || named === "stream-json" ? named : "text";
}
