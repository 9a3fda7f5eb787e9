import { createFormat, requestedFormat } from "./formats/create-format.ts";
import { createOutput } from "./output.ts";
import { createAgentViews } from "./progress/agent-views.ts";
import { type Outputs, reportError } from "./report-error.ts";

/** Runs a command, reports its error, and ends the process after all output is written. */
export async function runToExit(argv: readonly string[], command: () => Promise<number>): Promise<void> {
  const fail = async (error: unknown): Promise<number> => reportError(error, await outputsFor(argv));
  // A bug in the background must neither show the user a stack trace nor leave a program without a result.
  process.once("uncaughtException", (error) => void fail(error).then((code) => process.exit(code)));
  let code: number;
  try {
    code = await command();
  } catch (error) {
    code = await fail(error);
  }
  // If output could not be written, the exit code is already set.
  process.exit(code || process.exitCode);
}

async function outputsFor(argv: readonly string[]): Promise<Outputs> {
  const format = await createFormat({
    outputFormat: requestedFormat(argv),
    partialMessages: false,
    subagentText: false,
    agents: createAgentViews(),
    forTerminal: false,
  });
  return { format, output: createOutput(process.stdout), errors: createOutput(process.stderr) };
}
