import { describeError, stripControls, UserError } from "../lib/index.ts";
import { exitCodes } from "./exit-codes.ts";
import type { Format } from "./formats/format.ts";
import type { Output } from "./output.ts";

/** Destinations of a run: its result in the chosen format, and messages for a person. */
export interface Outputs {
  readonly format: Format;
  readonly output: Output;
  readonly errors: Output;
}

/** Writes one sentence with the cure, and for programs that read JSON also a result. Returns the exit code. */
export async function reportError(thrown: unknown, { format, output, errors }: Outputs): Promise<number> {
  const error = explained(thrown);
  const message = stripControls(describeError(error));
  const isExpected = error instanceof UserError;
  const hint = isExpected ? "" : ". This is a bug in Retinue; RETINUE_DEBUG=1 shows where.";
  await output.write(format.failure({ message, code: isExpected ? error.code : "internal_error" }));
  // An unanswered question is still on the current line.
  const start = isExpected && error.code === "interrupted" ? "\n" : "";
  await errors.write(`${start}retinue: ${message}${hint}\n${stackOf(error)}`);
  return isExpected ? error.exitCode : exitCodes.failed;
}

/** Turns errors that a person caused into a `UserError`; returns any other unchanged. */
function explained(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  // Node can't name the current directory: it was deleted.
  if ("syscall" in error && error.syscall === "uv_cwd") {
    const cure = 'Go to one that does (cd .. or cd "$PWD"), or name one: --cwd DIRECTORY.';
    return new UserError("The current directory no longer exists", { code: "cwd", cure, exitCode: 2 });
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
