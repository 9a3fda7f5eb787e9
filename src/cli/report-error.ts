import { describeError, errorCode, maskAddresses, stripControls, UserError } from "../lib/index.ts";
import { exitCodes } from "./exit-codes.ts";
import type { Format } from "./formats/format.ts";
import { type Output, withFlags } from "./output.ts";

/** Outputs of a run: its result in the chosen format, and messages for the user. */
export interface Outputs {
  readonly format: Format;
  readonly output: Output;
  readonly errors: Output;
}

/**
 * Writes the error in one sentence, together with what to do about it, and a result for programs that read JSON.
 * Returns the exit code.
 */
export async function reportError(thrown: unknown, { format, output, errors }: Outputs): Promise<number> {
  const error = explained(thrown);
  const message = stripControls(withFlags(describeError(error)));
  const isExpected = error instanceof UserError;
  const hint = isExpected ? "" : ". This is a bug in Retinue; RETINUE_DEBUG=1 shows where.";
  await output.write(format.failure({ message, code: isExpected ? error.code : "internal_error" }));
  // The cursor is still on the line of an unanswered question.
  const start = isExpected && error.code === "interrupted" ? "\n" : "";
  await errors.write(`${start}retinue: ${message}${hint}\n${stackOf(error)}`);
  return isExpected ? error.exitCode : exitCodes.failed;
}

/** Converts an error that the user caused into a `UserError`; returns any other error unchanged. */
function explained(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  // Node can't determine the current directory, because it was deleted.
  if ("syscall" in error && error.syscall === "uv_cwd") {
    const fix = 'Change to an existing directory (cd .. or cd "$PWD"), or pass one with --cwd DIRECTORY.';
    return new UserError("The current directory no longer exists", { code: "cwd", fix, exitCode: 2 });
  }
  // The user pressed Ctrl+C or Ctrl+D instead of answering a question.
  if (error.name === "AbortError" && error.message.startsWith("Aborted with Ctrl")) {
    return new UserError("Interrupted.", { code: "interrupted", exitCode: exitCodes.stopped });
  }
  // The message of such an error says what to do.
  if (operatingCodes.includes(errorCode(error)))
    return new UserError(`${describeError(error)}.`, { code: "system", cause: error });
  return error;
}

/** Codes of errors that have their cause outside Retinue, such as a full disk. */
const operatingCodes: readonly (string | undefined)[] = [
  "ENOSPC",
  "EDQUOT",
  "EFBIG",
  "EACCES",
  "EPERM",
  "EROFS",
  "EMFILE",
  "ENFILE",
  "EIO",
];

function stackOf(error: unknown): string {
  if (!process.env["RETINUE_DEBUG"] || !(error instanceof Error)) return "";
  return `${stripControls(maskAddresses(error.stack ?? ""))}\n`;
}
