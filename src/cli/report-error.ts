import { describeError, stripControls, UserError } from "../lib/index.ts";
import { exitCodes } from "./exit-code.ts";
import { createFormat, formatAskedFor } from "./formats/create-format.ts";
import { createOutput } from "./output.ts";

/** One sentence with the cure; for programs that read JSON also as the result. Answers with the exit code. */
export async function reportError(error: unknown, argv: readonly string[]): Promise<number> {
  const quiet = (): void => undefined;
  const message = stripControls(describeError(error));
  const isExpected = error instanceof UserError;
  const hint = isExpected ? "" : " This is a bug of retinue; RETINUE_DEBUG=1 shows where.";
  const format = createFormat({ outputFormat: formatAskedFor(argv), partialMessages: false, forTerminal: false });
  const failure = { message, code: isExpected ? error.code : "internal_error" };
  await createOutput(process.stdout, quiet).write(format.failure(failure));
  await createOutput(process.stderr, quiet).write(`retinue: ${message}${hint}\n${stackOf(error)}`);
  return isExpected ? error.exitCode : exitCodes.failed;
}

function stackOf(error: unknown): string {
  if (!process.env["RETINUE_DEBUG"] || !(error instanceof Error)) return "";
  return `${error.stack ?? ""}\n`;
}
