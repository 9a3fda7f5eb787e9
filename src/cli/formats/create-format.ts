import { stripControls } from "../../lib/index.ts";
import type { AgentViews } from "../progress/agent-views.ts";
import type { Format, OutputFormat } from "./format.ts";

export interface FormatOptions {
  readonly outputFormat: OutputFormat;
  readonly partialMessages: boolean;
  readonly subagentText: boolean;
  readonly forTerminal: boolean;
  /** Views that observe each update before the format does. */
  readonly agents: AgentViews;
}

export async function createFormat(options: FormatOptions): Promise<Format> {
  const { outputFormat, partialMessages, subagentText, forTerminal, agents } = options;
  if (outputFormat === "text") return createTextFormat(forTerminal);
  if (outputFormat === "json") return (await import("./json.ts")).createJsonFormat(agents);
  const { createStreamJsonFormat } = await import("./stream-json.ts");
  return createStreamJsonFormat({ partialMessages, subagentText, agents, newId: () => crypto.randomUUID() });
}

/** Finds the requested format in a command line that could not be parsed. */
export function requestedFormat(argv: readonly string[]): OutputFormat {
  const at = argv.lastIndexOf("--output-format");
  const named = at < 0 ? argv.findLast((argument) => argument.startsWith("--output-format="))?.slice(16) : argv[at + 1];
  return named === "json" || named === "stream-json" ? named : "text";
}

/** Prints only the agent's final text. If the output is a terminal, control characters are removed. */
function createTextFormat(forTerminal: boolean): Format {
  return {
    opened: () => "",
    update: () => "",
    result: ({ text }) => {
      const shown = forTerminal ? stripControls(text) : text;
      return shown === "" || shown.endsWith("\n") ? shown : `${shown}\n`;
    },
    failure: () => "",
  };
}
