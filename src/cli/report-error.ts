import { describeError, stripControls, UserError } from "../lib/index.ts";
import { exitCodes } from "./exit-codes.ts";
import type { Format } from "./formats/format.ts";
import type { Output } from "./output.ts";

export interface Faces {
  readonly format: Format;
  readonly output: Output;
  readonly errors: Output;
}

/** One sentence with the cure; for programs that read JSON also as the result. Answers with the exit code. */
export async function reportError(thrown: unknown, { format, output, errors }: Faces): Promise<number> {
  const error = explained(thrown);
  const message = stripControls(describeError(error));
  const isExpected = error instanceof UserError;
  const hint = isExpected ? "" : ". This is a bug of retinue; RETINUE_DEBUG=1 shows where.";
  await output.write(format.failure({ message, code: isExpected ? error.code : "internal_error" }));
  // A question that was not answered still stands on the line.
  const start = isExpected && error.code === "interrupted" ? "\n" : "";
  await errors.write(`${start}retinue: ${message}${hint}\n${stackOf(error)}`);
  return isExpected ? error.exitCode : exitCodes.failed;
}

/** What a person did, in their words; anything else as it is. */
function explained(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  // Node can't name the current directory: it was deleted.
  if ("syscall" in error && error.syscall === "uv_cwd") {
    const cure = 'Go to one that does (cd .. or cd "$PWD"), or name one: --cwd DIRECTORY.';
    return new UserError("The current directory does not exist any more", { code: "cwd", cure, exitCode: 2 });
  }
  // Ctrl+C or Ctrl+D instead of an answer to a question.
  if (error.name === "AbortError" && error.message.startsWith("Aborted with Ctrl")) {
    return new UserError("Interrupted.", { code: "interrupted", exitCode: exitCodes.stopped });
  }
  return error;
}

function stackOf(error: unknown): string {
  if (!process.env["RETINUE_DEBUG"] || !(error instanceof Error)) return "";
  return `${error.stack ?? ""}\n`;
}
